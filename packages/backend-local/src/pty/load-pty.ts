import { Readable, Writable } from 'node:stream'
import type { IPty } from '@lydell/node-pty'
import type { TerminalSize } from '@cofferdam/core/plugin'
import type { Child } from '../process/child.js'
import { exitBySignal } from '../process/child-exit.js'
import type { ChildExit } from '../process/child-exit.js'
import type { SpawnPlan } from '../process/plan-spawn.js'

export interface StartTerminal extends SpawnPlan {
  readonly cwd: string
  readonly size: TerminalSize
}

/** Starts programs on terminals. */
export type TerminalStarter = (request: StartTerminal) => Child

/** The starter, or why there are no terminals here: the library is optional and has binaries for some machines only. */
export async function loadTerminals(): Promise<TerminalStarter | { readonly reason: string }> {
  try {
    const library = await import('@lydell/node-pty')
    return (request) => {
      const { file, args, env, cwd, size } = request
      const options = {
        cwd,
        env: { ...env, TERM: env['TERM'] ?? 'xterm-256color' },
        cols: size.cols,
        rows: size.rows,
        encoding: null,
      }
      return new TerminalChild(library.spawn(file, [...args], options))
    }
  } catch (error) {
    return { reason: `terminals need the optional package @lydell/node-pty, which does not load: ${String(error)}` }
  }
}

class TerminalChild implements Child {
  readonly pid: number
  readonly stdout: Readable
  readonly stderr = null
  readonly stdin: Writable
  readonly #terminal: IPty
  readonly #exited: Promise<ChildExit>

  constructor(terminal: IPty) {
    this.#terminal = terminal
    this.pid = terminal.pid
    this.stdout = new Readable({ read: () => terminal.resume(), highWaterMark: 64 * 1024 })
    // Without an encoding it gives bytes, whatever its types say.
    terminal.onData((data: unknown) => {
      if (!this.stdout.push(data as Uint8Array)) terminal.pause()
    })
    this.#exited = new Promise((resolve) => {
      terminal.onExit(({ exitCode, signal }) => {
        this.stdout.push(null)
        resolve(signal === undefined || signal === 0 ? { exitCode, signal: null } : exitBySignal(signal))
      })
    })
    this.stdin = new Writable({
      write: (chunk: Uint8Array, _encoding, done) => {
        // It takes bytes too, whatever its types say.
        terminal.write(Buffer.from(chunk) as unknown as string)
        done()
      },
      // A terminal is not closed but told that nothing more comes, see termios(3), VEOF.
      final: (done) => {
        terminal.write('\u0004')
        done()
      },
    })
  }

  onExit(listener: (exit: ChildExit) => void): void {
    void this.#exited.then(listener)
  }

  resize({ cols, rows }: TerminalSize): void {
    this.#terminal.resize(cols, rows)
  }

  /** The library keeps its terminals to itself: as long as one is open, this process goes on. */
  holdOpen(): void {}
}
