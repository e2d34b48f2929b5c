/**
 * The load generator: HTTP/1.1 over raw sockets with one request in flight on each kept connection. It does as little
 * as it can (no header objects, no streams, no text decoding), because on a machine with two cores a usual client
 * would be slower than the server it measures. Every status is checked; the first wrong one ends the run.
 */
import { connect, type Socket } from 'node:net';
import { answerParent } from './cleanup.ts';
import { PATH_DIGITS, PATH_MARK, scatter } from './documents.ts';
import type { Load, Plan } from './messages.ts';

const READ_BYTES = 256 * 1024;
const MAX_SAMPLES = 2_000_000;

type Template = { bytes: Buffer; mark: number };

function lengthOf(header: string): number {
  const match = /\r\ncontent-length: *(\d+)/i.exec(header);
  if (!match) throw new Error(`An answer without content-length:\n${header}`);
  return Number(match[1]);
}

async function run(plan: Plan): Promise<Load> {
  const templates: Template[] = plan.requests.map((text) => {
    const bytes = Buffer.from(text);
    return { bytes, mark: bytes.indexOf(PATH_MARK) };
  });
  const latencies = new Float64Array(MAX_SAMPLES);
  const limit = Math.min(plan.maxRequests ?? MAX_SAMPLES, MAX_SAMPLES);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const sockets: Socket[] = [];
  let sent = 0;
  let answered = 0;
  let number = plan.firstNumber;
  let open = plan.connections;
  let startCpu = process.cpuUsage();
  let start = 0;
  let end = Number.POSITIVE_INFINITY;

  const openConnection = (): Promise<() => void> => {
    const connection = Promise.withResolvers<() => void>();
    const scratch = Buffer.alloc(Math.max(...templates.map(({ bytes }) => bytes.length)));
    // Bytes of the body that are still to come; -1 while a header is expected.
    let missing = -1;
    let pending = '';
    let sentAt = 0;

    const send = () => {
      const now = performance.now();
      if (now >= end || sent >= limit) {
        socket.destroy();
        if (--open === 0) resolve();
        return;
      }
      const { bytes, mark } = templates[sent++ % templates.length] as Template;
      sentAt = now;
      if (mark === -1) {
        socket.write(bytes);
        return;
      }
      bytes.copy(scratch);
      const digits = scatter(number++);
      const folder = mark + PATH_MARK.indexOf('#');
      scratch.write(digits[0] as string, folder, 'latin1');
      scratch.write(digits, folder + 2, PATH_DIGITS, 'latin1');
      socket.write(scratch.subarray(0, bytes.length));
    };

    const finish = () => {
      missing = -1;
      latencies[answered++] = performance.now() - sentAt;
      send();
    };

    const receive = (size: number, buffer: Uint8Array): boolean => {
      if (missing >= 0) {
        missing -= size;
      } else {
        const chunk = Buffer.from(buffer.buffer, buffer.byteOffset, size);
        const headerEnd = pending === '' ? chunk.indexOf('\r\n\r\n') : -1;
        let header: string;
        let body: number;
        if (headerEnd !== -1) {
          header = chunk.toString('latin1', 0, headerEnd);
          body = size - headerEnd - 4;
        } else {
          pending += chunk.toString('latin1', 0, size);
          const at = pending.indexOf('\r\n\r\n');
          if (at === -1) return true;
          header = pending.slice(0, at);
          body = pending.length - at - 4;
          pending = '';
        }
        if (!header.startsWith('HTTP/1.1 200')) {
          reject(new Error(`A wrong answer:\n${header}\n\n${chunk.toString('utf8').slice(-600)}`));
          return false;
        }
        missing = lengthOf(header) - body;
      }
      if (missing < 0) reject(new Error('More bytes came than were announced.'));
      else if (missing === 0) finish();
      return true;
    };

    const socket = connect({
      host: '127.0.0.1',
      port: plan.port,
      noDelay: true,
      // One buffer a connection instead of a stream of new ones.
      onread: { buffer: Buffer.alloc(READ_BYTES), callback: receive },
    });
    socket.on('error', reject);
    socket.on('close', () => {
      if (performance.now() < end && sent < limit) reject(new Error('The server closed a connection.'));
    });
    socket.on('connect', () => connection.resolve(send));
    socket.on('error', connection.reject);
    sockets.push(socket);
    return connection.promise;
  };

  try {
    const starters = await Promise.all(Array.from({ length: plan.connections }, openConnection));
    startCpu = process.cpuUsage();
    start = performance.now();
    end = start + plan.seconds * 1000;
    for (const begin of starters) begin();
    await promise;
  } finally {
    end = 0;
    for (const socket of sockets) socket.destroy();
  }
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(startCpu);
  const sorted = latencies.subarray(0, answered).sort();
  return {
    requests: answered,
    perSecond: answered / seconds,
    p50Ms: sorted[Math.floor(answered * 0.5)] ?? Number.NaN,
    p99Ms: sorted[Math.floor(answered * 0.99)] ?? Number.NaN,
    seconds,
    generatorCpu: (user + system) / 1e6,
    nextNumber: number,
  };
}

answerParent(run);
