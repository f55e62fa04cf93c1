import type { Logger } from '../contracts/logger.js'
import type { EventSink, SandboxEvent } from '../contracts/observer.js'

/** Says aloud, as a warning, what somebody would want to know without having asked for events. */
export function createWarningSink(logger: Logger): EventSink {
  return {
    emit: (event) => {
      const message = warningOf(event)
      if (message !== undefined)
        logger.warn(message, event.sessionId === null ? undefined : { session: event.sessionId })
    },
    close: () => Promise.resolve(),
  }
}

function warningOf(event: SandboxEvent): string | undefined {
  switch (event.type) {
    case 'isolation.weak':
      return `backend ${event.backend} does not confine commands: ${event.reason}`
    case 'session.degraded':
      return event.reason
    case 'entry.skipped':
      return `the ${event.kind} entry ${event.path} was skipped: ${event.reason}`
    case 'release.unsaved':
      return `${event.slot} was released without saving its work (${event.reason}); its sandbox is kept until it is reaped`
    case 'lease.lost':
      return `${event.slot} was taken over by another holder`
    case 'scope.missing_key':
      return `the ${event.scope} of the scope is missing: ${event.policy === 'fresh' ? 'a fresh session is used' : 'the session scope is used'}`
    default:
      return undefined
  }
}
