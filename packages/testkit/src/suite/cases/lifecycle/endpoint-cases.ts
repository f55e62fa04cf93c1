import { connect } from 'node:net'
import type { Sandbox, SandboxProcess } from '@cofferdam/core/plugin'
import { assertCode, assertEqual, assertTrue } from '../../assertions.js'
import { backendCases, needs } from '../../backend-case.js'
import type { BackendCase } from '../../backend-case.js'
import type { BackendContext } from '../../backend-context.js'
import { SkippedCase } from '../../skipped-case.js'

export const ENDPOINT_CASES: readonly BackendCase[] = backendCases('lifecycle', [
  [
    'LIFE-22',
    'endpoint.tunnel',
    'leads connections on 127.0.0.1 of this host to a server inside, until it is disposed',
    async (context) => {
      const sandbox = await context.sandbox()
      const inside = await startServer(context, sandbox)
      const endpoint = await sandbox.endpoint(inside.port)
      context.defer(async () => endpoint[Symbol.asyncDispose]())
      assertEqual(endpoint.host, '127.0.0.1', 'endpoint.host')
      assertEqual(new URL(endpoint.url).port, String(endpoint.port), 'port in endpoint.url')
      for (let round = 0; round < 3; round++) {
        const reply = await context.within('a reply', converse(endpoint.port, `${context.nonce}-${round}`))
        assertEqual(reply, `${context.nonce}-${round}`.toUpperCase(), 'what the server inside makes of it')
      }
      const numbers = Array.from({ length: 20 }, (_, index) => index)
      const replies = Promise.all(numbers.map((n) => converse(endpoint.port, `n${n}`)))
      assertEqual(
        await context.within('20 replies', replies),
        numbers.map((n) => `N${n}`),
        'replies on 20 connections at once',
      )
      await endpoint[Symbol.asyncDispose]()
      await endpoint[Symbol.asyncDispose]()
      const late = await converse(endpoint.port, 'late').catch(() => 'refused')
      assertTrue(late === 'refused' || late === '', 'nobody answers after disposal')
      await inside.process.kill()
    },
    needs('ports'),
  ],
  [
    'LIFE-22',
    'endpoint.port',
    'refuses numbers that are no ports',
    async (context) => {
      const sandbox = await context.sandbox()
      for (const port of [0, -1, 65_536, 1.5, Number.NaN]) {
        await assertCode(sandbox.endpoint(port), 'invalid_argument', `endpoint(${port})`)
      }
    },
    needs('ports'),
  ],
])

/** Servers that print their port and answer each connection with its first bytes in capitals. */
const SERVERS: readonly (readonly [program: string, option: string, script: string])[] = [
  [
    'node',
    '-e',
    `require('net').createServer(c => c.on('data', d => c.end(String(d).toUpperCase())))
      .listen(0, '127.0.0.1', function () { console.log(this.address().port) })`,
  ],
  [
    'perl',
    '-e',
    `use IO::Socket::INET; $| = 1;
    my $s = IO::Socket::INET->new(Listen => 32, LocalAddr => '127.0.0.1', LocalPort => 0) or die; print $s->sockport, "\n";
    while (my $c = $s->accept) { sysread $c, my $d, 1000; print $c uc $d; close $c }`,
  ],
  [
    'python3',
    '-c',
    [
      'import socket',
      's = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(32); print(s.getsockname()[1], flush=True)',
      'while True:',
      '  c, _ = s.accept(); c.sendall(c.recv(1000).upper()); c.close()',
    ].join('\n'),
  ],
]

/** Throws `SkippedCase` when there is no program to serve with. */
async function startServer(
  context: BackendContext,
  sandbox: Sandbox,
): Promise<{ readonly process: SandboxProcess; readonly port: number }> {
  for (const [program, option, script] of SERVERS) {
    if ((await context.run(sandbox, `command -v ${program}`)).exitCode !== 0) continue
    const process = await context.spawn(sandbox, [program, option, script], { background: true })
    const reader = process.stdout.getReader()
    const { value } = await context.within('the port of the server', reader.read())
    const port = Number(new TextDecoder().decode(value))
    assertTrue(Number.isInteger(port) && port > 0, 'the server has printed its port')
    reader.releaseLock()
    await process.stdout.cancel()
    return { process, port }
  }
  const programs = SERVERS.map(([program]) => program).join(', ')
  throw new SkippedCase(`none of ${programs} is installed in the sandbox, and nothing else can be a server`)
}

function converse(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let reply = ''
    const socket = connect({ host: '127.0.0.1', port }, () => socket.write(text))
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => (reply += chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(reply))
  })
}
