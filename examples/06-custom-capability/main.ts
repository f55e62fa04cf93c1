/** A capability of one's own: a list of what is to be done, which lies in the workspace and is saved with it. */
import { localBackend } from '@cofferdam/backend-local'
import { filesystem } from '@cofferdam/capabilities'
import { bindCapabilities, createHost } from '@cofferdam/core'
import { defineCapability, defineTool } from '@cofferdam/core/plugin'
import { z } from 'zod'

const todo = (path = 'TODO.md') =>
  defineCapability({
    type: 'todo',
    requires: ['filesystem'],
    bind: ({ session }) => ({
      instructions: `Keep what is left to do in ${path}: add_todo adds a line, finish_todo ticks one off.`,
      tools: [
        defineTool({
          name: 'add_todo',
          description: 'Adds something to do.',
          parameters: z.strictObject({ task: z.string().min(1).max(200) }),
          effects: 'write',
          approval: 'never',
          execute: async ({ task }) => {
            await session.files.append(path, `- [ ] ${task}\n`)
            return { ok: true, content: [{ type: 'text', text: `Added: ${task}` }], data: { task } }
          },
        }),
        defineTool({
          name: 'finish_todo',
          description: 'Ticks something off.',
          parameters: z.strictObject({ task: z.string().min(1) }),
          effects: 'write',
          approval: ({ task }) => (/deploy/i.test(task) ? 'ask' : 'never'),
          execute: async ({ task }) => {
            await session.files.edit(path, { oldText: `- [ ] ${task}\n`, newText: `- [x] ${task}\n` })
            return { ok: true, content: [{ type: 'text', text: `Done: ${task}` }], data: { task } }
          },
        }),
      ],
    }),
  })

await using host = await createHost({ plugins: [localBackend()] })
await using session = await host.acquire({ afterRelease: 'destroy' })
const logger = { debug: () => {}, info: () => {}, warn: console.warn, error: console.error }
await using agent = await bindCapabilities([filesystem({ readOnly: true }), todo()], { session, logger, runAs: null })
console.log(agent.instructions?.split('\n').at(-1))

// What a model would ask for.
const call = async (name: string, input: unknown) => {
  const tool = agent.tools.find((candidate) => candidate.name === name)
  const result = await tool?.execute(input).catch((error: { code: string }) => ({ content: [], data: error.code }))
  console.log(name, JSON.stringify(result?.data))
}
await call('add_todo', { task: 'write the tests' })
await call('add_todo', { task: 'deploy' })
await call('finish_todo', { task: 'write the tests' })
await call('finish_todo', { task: 'deploy' })
await call('add_todo', { tsak: 'typo' })
console.log(await session.files.readText('TODO.md'))
