import type { LocalProcess } from './local-process.js'

/** The processes of one sandbox that this host has started, whoever of it holds the sandbox now. */
export class ProcessTable {
  readonly #processes = new Map<string, LocalProcess>()
  readonly #operations = new Map<string, Promise<LocalProcess>>()
  /** Handles that look at it. */
  handles = 0

  get all(): LocalProcess[] {
    return [...this.#processes.values()]
  }

  find(id: string): LocalProcess | undefined {
    return this.#processes.get(id)
  }

  add(process: LocalProcess): void {
    this.#processes.set(process.id, process)
  }

  /** The process of an operation, started by the first who asks. One that could not be started may be tried again. */
  async once(operationId: string, start: () => Promise<LocalProcess>): Promise<LocalProcess> {
    const known = this.#operations.get(operationId)
    if (known !== undefined) return known
    const starting = start()
    this.#operations.set(operationId, starting)
    try {
      return await starting
    } catch (error) {
      this.#operations.delete(operationId)
      throw error
    }
  }

  /** Forgets the oldest of those that have ended. */
  trim(keepEnded: number): void {
    let surplus = -keepEnded
    for (const { hasEnded } of this.#processes.values()) if (hasEnded) surplus++
    for (const process of this.#processes.values()) {
      if (surplus <= 0) return
      if (!process.hasEnded) continue
      this.#processes.delete(process.id)
      this.#operations.delete(process.info().operationId)
      process.forget()
      surplus--
    }
  }

  clear(): void {
    this.trim(0)
  }
}

const tables = new Map<string, ProcessTable>()

/**
 * The table of a sandbox, for all its handles in this host: one that was let go and is taken up again finds its commands
 * with their pipes, which only this host has. The marker is the sandbox's own, never given twice.
 */
export function joinProcessTable(marker: string): ProcessTable {
  const table = tables.get(marker) ?? new ProcessTable()
  tables.set(marker, table)
  table.handles++
  return table
}

/** The sandbox is gone. */
export function dropProcessTable(marker: string): void {
  tables.get(marker)?.clear()
  tables.delete(marker)
}

/** A handle was let go: nothing is kept for a sandbox that nobody looks at and nothing runs in. */
export function leaveProcessTable(marker: string): void {
  const table = tables.get(marker)
  if (table === undefined || --table.handles > 0) return
  if (table.all.every(({ hasEnded }) => hasEnded)) dropProcessTable(marker)
}
