import { setTimeout as sleep } from 'node:timers/promises'
import { SandboxError } from '@cofferdam/core/plugin'
import type { AttachedProcess, ProcessExit, ProcessInfo, SandboxProcess, Signal } from '@cofferdam/core/plugin'
import { findFamily, readCommand, readEnvironment } from './find-processes.js'
import type { Family } from './find-processes.js'
import { closedInput } from './input-stream.js'
import { killFamily, signalFamily } from './kill-family.js'
import { emptyStream } from './local-process.js'
import { parseProcessMarker, PROCESS_VARIABLE } from './process-marker.js'
import type { ProcessMarker } from './process-marker.js'

const POLL_MS = 25
const SHOWN_CHARACTERS = 200

/** Processes of a sandbox that another host started, by what their environment says. */
export function findAdopted(family: Family, known: (id: string) => boolean): AdoptedProcess[] {
  const found = new Map<string, AdoptedProcess>()
  for (const pid of findFamily(family).pids.toSorted((a, b) => a - b)) {
    const line = readEnvironment(pid).find((variable) => variable.startsWith(`${PROCESS_VARIABLE}=`))
    const marker = line === undefined ? undefined : parseProcessMarker(line.slice(PROCESS_VARIABLE.length + 1))
    if (marker === undefined || known(marker.id) || found.has(marker.id)) continue
    found.set(marker.id, new AdoptedProcess(marker, pid))
  }
  return [...found.values()]
}

/** A process of an earlier host. Its output went with that host's end of the pipe; it can be seen, signalled and killed. */
export class AdoptedProcess implements SandboxProcess {
  readonly id: string
  readonly stdin: WritableStream<Uint8Array> = closedInput()
  readonly stdout: ReadableStream<Uint8Array> = emptyStream()
  readonly stderr: ReadableStream<Uint8Array> = emptyStream()
  readonly #marker: ProcessMarker
  readonly #command: string

  constructor(marker: ProcessMarker, pid: number) {
    this.id = marker.id
    this.#marker = marker
    this.#command = readCommand(pid).slice(0, SHOWN_CHARACTERS)
  }

  get #family(): Family {
    return { leaders: [], marker: this.#marker.text }
  }

  info(): ProcessInfo {
    const { id, operationId, background, keepOnPark, startedAtMs } = this.#marker
    return {
      id,
      operationId,
      command: this.#command,
      status: 'running',
      exit: null,
      background,
      keepOnPark,
      startedAtMs,
    }
  }

  attach(fromOffset: number | undefined): AttachedProcess {
    const firstOffset = fromOffset ?? 0
    return { process: this, firstOffset, availableBytes: 0, droppedBytes: 0 }
  }

  resize(): Promise<void> {
    const reason = 'its terminal belonged to the host that started it'
    const error = new SandboxError(
      'unsupported_feature',
      `It cannot be resized: ${reason}.`,
      { feature: 'tty', reason },
      { backend: 'local' },
    )
    return Promise.reject(error)
  }

  async kill(signal: Signal = 'SIGKILL'): Promise<void> {
    if (signal === 'SIGKILL') await killFamily(this.#family)
    else signalFamily(this.#family, signal)
  }

  /** Only a parent is told how a process ended, and we are not its parent. */
  async wait(): Promise<ProcessExit> {
    while (findFamily(this.#family).pids.length > 0) await sleep(POLL_MS)
    const reason = 'it was started by a host that has ended, and nobody was told how it ended'
    throw new SandboxError(
      'transport_lost',
      `The exit of process ${this.id} is not known: ${reason}.`,
      { reason },
      { backend: 'local', retryable: false },
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#marker.background) await this.kill()
  }
}
