import type { Writable } from 'node:stream'
import { SandboxError } from '@cofferdam/core/plugin'

/** A command's standard input. Writing waits until the pipe takes it; a command that reads no more is `not_running`. */
export function inputStream(target: Writable): WritableStream<Uint8Array> {
  return new WritableStream<Uint8Array>({
    write: (chunk) => settle((done) => target.write(chunk, done)),
    // A command that has ended has seen the end of its input too.
    close: () => (target.destroyed ? undefined : settle((done) => target.end(done)).catch(() => undefined)),
    abort: () => {
      target.destroy()
    },
  })
}

/** That of a command which was started without one. */
export function closedInput(): WritableStream<Uint8Array> {
  const stream = new WritableStream<Uint8Array>()
  void stream.close()
  return stream
}

function settle(act: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    act((error) => {
      if (error === undefined || error === null) resolve()
      else reject(noReader(error))
    })
  })
}

function noReader(cause: unknown): SandboxError {
  const message = 'The command does not read its standard input any more.'
  return new SandboxError('not_running', message, { status: 'stdin closed' }, { backend: 'local', cause })
}
