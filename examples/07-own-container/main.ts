/**
 * An application with a tsyringe container of its own: a decorated class registered there under one of Cofferdam's tokens
 * is used like what a plugin brings, and is given Cofferdam's services.
 */
import 'reflect-metadata'
import { localBackend } from '@cofferdam/backend-local'
import { createHost } from '@cofferdam/core'
import type { SandboxEvent } from '@cofferdam/core'
import type { EventSink } from '@cofferdam/core/plugin'
import { DEPLOYMENT, EVENT_SINK } from '@cofferdam/core/tsyringe'
import { container, inject, injectable } from 'tsyringe'

/** Belongs to the application: anything that its container can make. */
class Journal {
  readonly lines: string[] = []
}

@injectable()
class JournalSink implements EventSink {
  readonly #journal: Journal
  readonly #deployment: string

  constructor(@inject(Journal) journal: Journal, @inject(DEPLOYMENT) deployment: string) {
    this.#journal = journal
    this.#deployment = deployment
  }

  emit(event: SandboxEvent): void {
    if (event.type === 'exec.ended')
      this.#journal.lines.push(`${this.#deployment}: a command ended with ${event.exitCode}`)
  }

  async close(): Promise<void> {
    this.#journal.lines.push(`${this.#deployment}: closed`)
  }
}

const own = container.createChildContainer()
own.registerSingleton(Journal)
own.register(EVENT_SINK, { useClass: JournalSink })
{
  await using host = await createHost({ plugins: [localBackend()], container: own, deployment: 'shop' })
  await using session = await host.acquire({ afterRelease: 'destroy' })
  await session.exec('exit 3')
}
console.log(own.resolve(Journal).lines.join('\n'))
