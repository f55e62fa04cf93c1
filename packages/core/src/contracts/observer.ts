import type { SandboxErrorJson } from '../errors/sandbox-error.js'
import type { JsonValue } from '../errors/error-details.js'
import type { Isolation } from './features.js'

/** Which of the four ways a workspace was made ready. See `contracts/session.ts`. */
export type StartBranch = 'warm' | 'lost' | 'seeded' | 'cold'

/** What every event carries. */
export interface EventHeader {
  /** Milliseconds since the epoch, host clock. */
  readonly atMs: number
  /** The session it belongs to, or null for events of the host. */
  readonly sessionId: string | null
  /** Grows by one per host; a gap tells a sink that it missed events. */
  readonly sequence: number
}

/**
 * Everything that Cofferdam reports. One flat union: a sink switches on `type`. Events never carry file contents, command
 * output or environment values, and texts in them are redacted.
 */
export type SandboxEvent = EventHeader &
  (
    | { readonly type: 'acquire.waiting'; readonly slot: string }
    | { readonly type: 'acquire.claimed'; readonly slot: string; readonly fence: string; readonly tookOver: boolean }
    | { readonly type: 'acquire.failed'; readonly slot: string; readonly error: SandboxErrorJson | null }
    | {
        readonly type: 'session.ready'
        readonly branch: StartBranch
        readonly backend: string
        readonly isolation: Isolation
        readonly durationMs: number
      }
    | { readonly type: 'session.degraded'; readonly reason: string }
    | { readonly type: 'session.status'; readonly from: string; readonly to: string }
    | { readonly type: 'isolation.weak'; readonly backend: string; readonly reason: string }
    | { readonly type: 'lease.lost'; readonly slot: string }
    | {
        readonly type: 'entry.applied'
        readonly path: string
        readonly kind: string
        readonly done: number
        readonly of: number
      }
    | { readonly type: 'entry.skipped'; readonly path: string; readonly kind: string; readonly reason: string }
    | {
        readonly type: 'projection.applied'
        readonly written: number
        readonly removed: number
        readonly unchanged: number
      }
    | { readonly type: 'exec.started'; readonly processId: string; readonly background: boolean }
    | {
        readonly type: 'exec.ended'
        readonly processId: string
        readonly exitCode: number | null
        readonly signal: string | null
        readonly timedOut: boolean
        readonly durationMs: number
      }
    | {
        readonly type: 'snapshot.progress'
        readonly operation: 'take' | 'restore' | 'verify'
        readonly files: number
        readonly bytes: number
      }
    | {
        readonly type: 'snapshot.taken'
        readonly snapshot: string
        readonly files: number
        readonly bytes: number
        readonly durationMs: number
      }
    | { readonly type: 'snapshot.restored'; readonly snapshot: string; readonly durationMs: number }
    | { readonly type: 'snapshot.skipped_path'; readonly path: string; readonly reason: string }
    | {
        readonly type: 'release.step'
        readonly step: ReleaseStep
        readonly durationMs: number
        readonly error: SandboxErrorJson | null
      }
    | { readonly type: 'release.unsaved'; readonly slot: string; readonly reason: string }
    | { readonly type: 'scope.missing_key'; readonly scope: string; readonly policy: string }
    | { readonly type: 'reap.removed'; readonly backend: string; readonly sandbox: string; readonly reason: string }
    | { readonly type: 'reap.kept'; readonly backend: string; readonly sandbox: string; readonly reason: string }
    | { readonly type: 'plugin'; readonly plugin: string; readonly name: string; readonly data: JsonValue }
  )

/** The steps of a release, in their order. */
export type ReleaseStep = 'hooks' | 'processes' | 'freeze' | 'snapshot' | 'thaw' | 'record' | 'compute' | 'lease'

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/** An event before the host adds its header. */
export type SandboxEventBody = DistributiveOmit<SandboxEvent, keyof EventHeader>

/**
 * Receives the events of a host, in order. It must return at once (queue what takes time); what it throws is logged and
 * never reaches the operation that emitted the event. `close` is awaited at the host's disposal and flushes.
 */
export interface EventSink {
  emit(event: SandboxEvent): void
  close(): Promise<void>
}
