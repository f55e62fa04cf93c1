import { randomUUID } from 'node:crypto'
import { join, resolve } from 'node:path'
import { unmetRequirements } from '../acquire/check-requirements.js'
import { Heartbeat } from '../acquire/heartbeat.js'
import type { HostContext } from '../acquire/host-context.js'
import { ParkedSandboxes } from '../acquire/parked-sandboxes.js'
import { STEP_BOUNDS_MS } from '../acquire/release-steps.js'
import type { Host } from '../contracts/host.js'
import type { SandboxEvent } from '../contracts/observer.js'
import { BASE_DIR, CLOCK, DATA_DIR, DEPLOYMENT, EMIT, LOGGER } from '../di/tokens.js'
import { SandboxError } from '../errors/sandbox-error.js'
import { createConsoleLogger } from '../observe/console-logger.js'
import { EventHub } from '../observe/event-hub.js'
import { systemClock } from '../observe/system-clock.js'
import { createWarningSink } from '../observe/warning-sink.js'
import { parsePathGrants } from '../path/path-grant.js'
import { compose } from '../plugin/compose.js'
import type { ComposedServices } from '../plugin/compose.js'
import { createRedactor } from '../redact/redactor.js'
import type { Redactor } from '../redact/redactor.js'
import { currentOwner } from '../store/owner-identity.js'
import { defaultServices } from './default-services.js'
import { checkHostOptions } from './check-host-options.js'
import type { HostOptions } from './host-options.js'
import { SessionHost } from './session-host.js'

/**
 * Composes a host: registers all plugins, makes their services and checks that everything fits together.
 *
 * Throws `invalid_config` for duplicate names, missing services, plugins built for another version and invalid options,
 * and `unsupported_feature` when the default backend falls short of `require`. Nothing is left over then.
 *
 * ```ts
 * await using host = await createHost({ plugins: [localBackend()] })
 * await using session = await host.acquire({ scope: { session: 'chat-42' } })
 * ```
 */
export async function createHost(options: HostOptions): Promise<Host> {
  checkHostOptions(options)
  const clock = options.clock ?? systemClock
  const logger = options.logger ?? createConsoleLogger()
  const redactor = createRedactor()
  const events = new EventHub({ clock, logger, redact: (event) => redactEvent(redactor, event) })
  events.addSink(createWarningSink(logger))
  const baseDir = resolve(options.baseDir ?? process.cwd())
  const deployment = options.deployment ?? 'default'
  const dataDir = resolve(baseDir, options.dataDir ?? join(baseDir, '.cofferdam'))
  const services = await compose({
    plugins: options.plugins,
    defaults: defaultServices(dataDir),
    ...(options.container === undefined ? {} : { container: options.container }),
    provide: (scope) => {
      scope.provide(CLOCK, () => clock)
      scope.provide(LOGGER, () => logger)
      scope.provide(EMIT, () => (event) => events.emit(null, event))
      scope.provide(DEPLOYMENT, () => deployment)
      scope.provide(BASE_DIR, () => baseDir)
      scope.provide(DATA_DIR, () => dataDir)
    },
  })
  try {
    for (const sink of services.sinks) events.addSink(sink)
    const context = contextOf(options, services, { clock, logger, redactor, events, baseDir, deployment })
    checkDefaultBackend(context, options)
    return new SessionHost(context, services, { drainOnSignals: options.drainOnSignals ?? true })
  } catch (error) {
    await services[Symbol.asyncDispose]()
    throw error
  }
}

interface HostFacilities extends Pick<HostContext, 'clock' | 'logger' | 'deployment'> {
  readonly redactor: Redactor
  readonly events: EventHub
  readonly baseDir: string
}

function contextOf(options: HostOptions, services: ComposedServices, facilities: HostFacilities): HostContext {
  const { states, guard, backends, engines } = services
  const { clock, logger, redactor, events, baseDir, deployment } = facilities
  const hostId = randomUUID()
  const leaseTtlMs = options.leaseTtlMs ?? 60_000
  const { secrets } = options
  return {
    deployment,
    hostId,
    owner: { process: currentOwner(), host: hostId },
    clock,
    logger,
    emit: (sessionId, event) => events.emit(sessionId, event),
    subscribe: (listener) => events.subscribe(listener),
    backends,
    defaultBackend: options.defaultBackend ?? firstKey(backends),
    engines,
    snapshots: options.snapshots ?? { kind: 'archive' },
    states,
    guard,
    redactor,
    secrets: async (ref) => {
      if (secrets === undefined) throw noResolver(ref)
      return secrets(ref)
    },
    hostAccess: { baseDir, grants: parsePathGrants(options.grants ?? []) },
    stateKey: options.stateKey ?? null,
    leaseTtlMs,
    releaseBoundsMs: { ...STEP_BOUNDS_MS, ...options.releaseBoundsMs },
    live: { handles: new Set(), shared: new Map(), waiting: new Set(), draining: false },
    parked: new ParkedSandboxes({ maxParked: options.maxParked ?? 16, states, guard, backends, logger }),
    heartbeat: new Heartbeat(clock, leaseTtlMs, guard.reach !== 'cluster'),
  }
}

function firstKey(backends: ReadonlyMap<string, unknown>): string {
  const [first] = backends.keys()
  if (first !== undefined) return first
  const problem = 'the host has no backend; add one to plugins, for example localBackend() of @cofferdam/backend-local'
  throw new SandboxError('invalid_config', problem, { problems: [problem] })
}

function checkDefaultBackend(context: HostContext, options: HostOptions): void {
  const client = context.backends.get(context.defaultBackend)
  if (client === undefined) {
    const known = [...context.backends.keys()].join(', ')
    const problem = `defaultBackend is ${context.defaultBackend}, and the plugins bring ${known}`
    throw new SandboxError('invalid_config', problem, { problems: [problem] })
  }
  const unmet = unmetRequirements(client.features, options.require ?? {})
  if (unmet.length === 0) return
  const reason = unmet.join('; ')
  throw new SandboxError(
    'unsupported_feature',
    `the default backend ${context.defaultBackend} falls short of what createHost requires: ${reason}`,
    { feature: unmet[0]?.split(' ')[0] ?? 'features', reason },
    { backend: context.defaultBackend },
  )
}

function redactEvent(redactor: Redactor, event: SandboxEvent): SandboxEvent {
  return redactor.redactJson(event as never) as unknown as SandboxEvent
}

function noResolver(ref: string): SandboxError<'invalid_config'> {
  const problem = `the secret ${ref} is referenced, and createHost was given no secrets resolver`
  return new SandboxError('invalid_config', problem, { problems: [problem] })
}
