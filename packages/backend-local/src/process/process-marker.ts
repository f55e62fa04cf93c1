/** Says in the environment of a process which command it belongs to; how a later host finds and names it. */
export const PROCESS_VARIABLE = 'COFFERDAM_PROCESS'
/** Says which sandbox and which turn of its holder. */
export const SANDBOX_VARIABLE = 'COFFERDAM_SANDBOX'

export interface ProcessMarker {
  readonly id: string
  readonly operationId: string
  readonly background: boolean
  readonly keepOnPark: boolean
  readonly startedAtMs: number
  /** As it stands in the environment. */
  readonly text: string
}

const MARKER = /^([0-9a-f]+-\d+):([b-])([k-]):(\d+):([\w-]*)$/

export function formatProcessMarker(of: Omit<ProcessMarker, 'text'>): string {
  const flags = `${of.background ? 'b' : '-'}${of.keepOnPark ? 'k' : '-'}`
  return `${of.id}:${flags}:${of.startedAtMs}:${Buffer.from(of.operationId).toString('base64url')}`
}

/** Undefined for what is no marker: a command may set its children's variables as it likes. */
export function parseProcessMarker(text: string): ProcessMarker | undefined {
  const [, id, background, keepOnPark, startedAtMs, operationId] = MARKER.exec(text) ?? []
  if (id === undefined || operationId === undefined) return undefined
  return {
    id,
    operationId: Buffer.from(operationId, 'base64url').toString(),
    background: background === 'b',
    keepOnPark: keepOnPark === 'k',
    startedAtMs: Number(startedAtMs),
    text,
  }
}
