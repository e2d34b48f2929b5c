import { createHash } from 'node:crypto';

/** Texts that clients and servers like to change on the way, by what is special about them. */
export const TEXTS: Record<string, string> = {
  empty: '',
  'a final newline': 'one line\n',
  'no final newline': 'one line\ntwo lines',
  'trailing blanks': ' \t a \t \n\n \n',
  CRLF: 'a\r\nb\r\n\r\n',
  'a lone CR': 'a\rb\r\rc\r',
  'every kind of line end': 'a\nb\rc\r\nd\n\re\u0085f\u2028g\u2029h\u000bi\u000cj',
  'a byte order mark at byte 0': '\ufeffafter the mark',
  'two byte order marks at byte 0': '\ufeff\ufeff',
  'a byte order mark at 64 KiB': `${'x'.repeat(65_536)}\ufeff${'y'.repeat(100)}`,
  'a character across 64 KiB': `${'x'.repeat(65_535)}😀${'y'.repeat(100)}`,
  NUL: 'a\0b\0\0',
  'controls and DEL': `${Array.from({ length: 0x21 }, (_, i) => String.fromCharCode(i)).join('')}\u007f\u0080\u009f`,
  'composed and decomposed': 'caf\u00e9 cafe\u0301 \u212b \uf900',
  'bidirectional and invisible': 'a\u202eb\u2066c\u2069\u200b\u200d\u2060\u00ad',
  noncharacters: '\uffff\ufffe\ufdd0\u{1ffff}\u{10ffff}\ufffd',
  'JSON and escapes': '{"a":"\\u0000\\n\\\\"} \\ud83d \\" </script> %00 %s $1 {{x}}',
  'quotes of SQL': `'; DROP TABLE memories; -- " \\' \\x41`,
  'a front matter': '---\nname: x\n---\n\n# Title\r\n',
  'an emoji at the limit': `${'x'.repeat(102_396)}😀`,
  'emoji up to the limit': '😀'.repeat(25_600),
  'newlines up to the limit': '\n'.repeat(102_400),
  'controls up to the limit': '\u0001'.repeat(102_400),
};

/** One byte more than a memory holds. */
export const TOO_LARGE: Record<string, string> = {
  'an emoji across the limit': `${'x'.repeat(102_397)}😀`,
  'a letter behind the limit': 'x'.repeat(102_401),
};

/** What a text must come back as. */
export function expected(content: string) {
  const bytes = Buffer.from(content, 'utf8');
  return {
    content,
    content_size_bytes: bytes.length,
    content_sha256: createHash('sha256').update(bytes).digest('hex'),
  };
}
