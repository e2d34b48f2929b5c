import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type CuttingProxy = {
  url: string;
  /** The next `count` replies are dropped: the server has answered, and the client sees its connection break. */
  cut(count: number): void;
  /** How many replies were dropped since the start. */
  readonly dropped: number;
  close(): Promise<void>;
};

/** A TCP proxy in front of servers, which take turns by connection: a repeated request reaches another one. */
export async function startCuttingProxy(upstreams: string[]): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let toCut = 0;
  let dropped = 0;
  let connections = 0;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // A connection that breaks is what this proxy is for.
    socket.on('error', () => {});
  };
  const server = createServer((client) => {
    const { hostname, port } = new URL(upstreams[connections++ % upstreams.length] as string);
    const upstream = connect(Number(port), hostname);
    keep(client);
    keep(upstream);
    client.on('data', (data) => upstream.write(data));
    upstream.on('data', (data) => {
      // The first byte of a reply means that the server has committed.
      if (toCut > 0) {
        toCut--;
        dropped++;
        client.destroy();
        upstream.destroy();
      } else client.write(data);
    });
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut(count) {
      toCut = count;
    },
    get dropped() {
      return dropped;
    },
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
