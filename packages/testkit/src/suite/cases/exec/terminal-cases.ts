import type { Sandbox, SandboxProcess, SpawnRequest, TerminalSize } from '@cofferdam/core/plugin'
import { assertEqual, assertIncludes } from '../../assertions.js'
import { backendCases, needs } from '../../backend-case.js'
import type { BackendCase } from '../../backend-case.js'
import { bytesOf } from '../../backend-context.js'
import type { BackendContext } from '../../backend-context.js'

const SIZE: TerminalSize = { cols: 91, rows: 33 }
/** Tells that its traps are set, and waits in short steps: a shell runs a trap between two commands. */
const READY_AND_WAIT = 'echo ready; while :; do sleep 0.02; done'

export const TERMINAL_CASES: readonly BackendCase[] = backendCases('exec', [
  [
    'EXEC-60',
    'tty.size',
    'runs a command on a terminal of the size that was asked for',
    async (context) => {
      const terminal = await open(context, 'test -t 0 && test -t 1 && test -t 2 && stty size')
      assertEqual(await terminal.rest(), '33 91', 'what stty tells')
      assertEqual((await terminal.process.wait()).exitCode, 0, 'exit code, of the tests for a terminal too')
    },
    needs('tty'),
  ],
  [
    'EXEC-61',
    'tty.one-stream',
    'gives stdout and stderr together on stdout, in the order in which they were written',
    async (context) => {
      const terminal = await open(context, 'echo one; echo two >&2; echo three; exit 4')
      const stderr = new Response(terminal.process.stderr).text()
      assertEqual((await terminal.rest()).split(/\r?\n/), ['one', 'two', 'three'], 'stdout')
      assertEqual(await context.within('the end of stderr', stderr), '', 'stderr')
      assertEqual((await terminal.process.wait()).exitCode, 4, 'exit code')
    },
    needs('tty'),
  ],
  [
    'EXEC-62',
    'tty.resize',
    'tells a command of a new size by SIGWINCH',
    async (context) => {
      const terminal = await open(context, `trap 'stty size; exit 0' WINCH; ${READY_AND_WAIT}`)
      await terminal.until('ready')
      await terminal.process.resize({ cols: 120, rows: 50 })
      assertIncludes(await terminal.rest(), '50 120', 'what stty tells after it')
      await terminal.process.resize(SIZE)
    },
    needs('tty'),
  ],
  [
    'EXEC-63',
    'tty.interrupt',
    'makes a Ctrl-C on its input a SIGINT for what runs in the foreground',
    async (context) => {
      const terminal = await open(context, `trap 'echo caught; exit 5' INT; ${READY_AND_WAIT}`)
      await terminal.until('ready')
      await terminal.type('\x03')
      assertIncludes(await terminal.rest(), 'caught', 'output of the trap')
      assertEqual((await terminal.process.wait()).exitCode, 5, 'exit code of the trap')
      const plain = await open(context, READY_AND_WAIT)
      await plain.until('ready')
      await plain.type('\x03')
      await plain.rest()
      assertEqual((await plain.process.wait()).signal, 'SIGINT', 'end without a trap')
    },
    needs('tty'),
  ],
  [
    'EXEC-64',
    'tty.conversation',
    'gives a command the lines that are typed, one after the other',
    async (context) => {
      const terminal = await open(context, 'stty -echo; echo ready; read a; echo "1 $a"; read b; echo "2 $b"')
      await terminal.until('ready')
      await terminal.type('first\n')
      await terminal.until('1 first')
      await terminal.type('second\n')
      assertIncludes(await terminal.rest(), '2 second', 'the answer to the second line')
      assertEqual((await terminal.process.wait()).exitCode, 0, 'exit code')
    },
    needs('tty'),
  ],
  [
    'EXEC-65',
    'tty.kill',
    'kills what runs on a terminal with all its descendants',
    async (context) => {
      const terminal = await open(context, 'sleep 61 & echo ready; sleep 61')
      await terminal.until('ready')
      await context.within('the kill', terminal.process.kill())
      await terminal.rest()
      assertEqual((await context.within('its end', terminal.process.wait())).signal, 'SIGKILL', 'its end')
    },
    needs('tty'),
  ],
])

export const TERMINAL_END_CASES: readonly BackendCase[] = backendCases(
  'exec',
  [
    [
      'EXEC-66',
      'tty.end-of-input',
      'tells a command that reads lines, when its input is closed, that nothing more comes',
      async (context) => {
        const terminal = await open(context, 'stty -echo; echo ready; cat; echo after')
        await terminal.until('ready')
        await terminal.type('line\n')
        await terminal.until('line')
        await terminal.close()
        assertIncludes(await terminal.rest(), 'after', 'what runs after the end of input')
      },
      needs('tty'),
    ],
  ],
  'SHOULD',
)

/** A command on a terminal, at which the case sits. */
class Terminal {
  readonly process: SandboxProcess
  readonly #context: BackendContext
  readonly #output: ReadableStreamDefaultReader<Uint8Array>
  readonly #input: WritableStreamDefaultWriter<Uint8Array>
  readonly #decoder = new TextDecoder()
  #seen = ''

  constructor(context: BackendContext, process: SandboxProcess) {
    this.process = process
    this.#context = context
    this.#output = process.stdout.getReader()
    this.#input = process.stdin.getWriter()
  }

  /** Reads until the text has come. */
  async until(text: string): Promise<void> {
    const read = async (): Promise<void> => {
      while (!this.#seen.includes(text)) if (!(await this.#more())) break
    }
    await this.#context.within(`${JSON.stringify(text)} on the terminal`, read())
    assertIncludes(this.#seen, text, 'output of the terminal')
  }

  /** Everything from the beginning to the end, without the last line end. */
  async rest(): Promise<string> {
    const read = async (): Promise<void> => {
      while (await this.#more());
    }
    await this.#context.within('the end of the output', read())
    return this.#seen.trimEnd()
  }

  async type(text: string): Promise<void> {
    await this.#input.write(bytesOf(text))
  }

  close(): Promise<void> {
    return this.#input.close()
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#output.read()
    if (value !== undefined) this.#seen += this.#decoder.decode(value, { stream: true })
    return !done
  }
}

async function open(context: BackendContext, command: SpawnRequest['command']): Promise<Terminal> {
  const sandbox: Sandbox = await context.sandbox()
  return new Terminal(context, await context.spawn(sandbox, command, { tty: SIZE, stdin: 'pipe' }))
}
