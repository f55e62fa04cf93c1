import { encodePath } from '@cofferdam/core/path'
import { findExecutable } from '../commands/executables.js'
import type { MemoryProcess, Program } from '../process/memory-process.js'
import { NULL_DEVICE, Pipe } from '../process/open-file.js'
import type { OpenFile } from '../process/open-file.js'
import type { ProcessDeath } from '../process/process-death.js'
import { directoryPath } from '../tree/nodes.js'
import { PosixError } from '../tree/posix-error.js'
import { BUILTINS } from './builtins.js'
import { BreakLoop, ContinueLoop, ShellExit } from './control-flow.js'
import { expandPattern, expandText, expandWords } from './expand.js'
import { applyRedirects, withRedirects } from './redirect.js'
import type { ShellContext } from './shell-context.js'
import type { Command, ListItem, Pipeline, Script, SimpleCommand } from './syntax.js'
import { ShellSyntaxError } from './syntax.js'

/** Runs one script in one process. A subshell is a copy of it in a child. */
export class Shell implements ShellContext {
  readonly process: MemoryProcess
  readonly variables: Map<string, string>
  readonly exported: Set<string>
  readonly jobs: Map<number, MemoryProcess> = new Map()
  parameters: readonly string[]
  name: string
  status = 0
  exitOnFailure = false
  onExit: string | null = null
  #lastJob = ''
  /** Inside a condition, where a failure is an answer. */
  #conditions = 0

  constructor(process: MemoryProcess, from: { readonly name: string; readonly parameters: readonly string[] }) {
    this.process = process
    this.name = from.name
    this.parameters = from.parameters
    this.variables = new Map(process.environment)
    this.exported = new Set(process.environment.keys())
    this.variables.set('PWD', directoryPath(process.directory))
  }

  getVariable(name: string): string | undefined {
    if (name === '?') return String(this.status)
    if (name === '$') return String(this.#shellPid)
    if (name === '!') return this.#lastJob
    if (name === '#') return String(this.parameters.length)
    if (name === '@' || name === '*') return this.parameters.join(' ')
    if (name === '0') return this.name
    if (name === '-') return this.exitOnFailure ? 'e' : ''
    if (/^[1-9]$/.test(name)) return this.parameters[Number(name) - 1]
    return this.variables.get(name)
  }

  setVariable(name: string, value: string): void {
    this.variables.set(name, value)
  }

  /** What a program started now would see. */
  environment(extra: ReadonlyMap<string, string> = new Map()): Map<string, string> {
    const environment = new Map<string, string>()
    for (const name of this.exported) {
      const value = this.variables.get(name)
      if (value !== undefined) environment.set(name, value)
    }
    for (const [name, value] of extra) environment.set(name, value)
    return environment
  }

  async runScript(script: Script): Promise<number> {
    for (const item of script) {
      await this.process.checkpoint()
      await this.#runItem(item)
      await this.runPendingTraps()
    }
    return this.status
  }

  /** Whatever ends the script (its end, `exit`, a stray `break`), with the trap for EXIT run. */
  async runToEnd(script: () => Promise<number>): Promise<number> {
    let status = await this.#untilExit(script)
    if (this.onExit !== null) {
      const action = this.onExit
      this.onExit = null
      this.status = status
      await this.#untilExit(async () => {
        await BUILTINS['eval']!(this, [action])
        return status
      }).then((ended) => (status = ended))
    }
    return status
  }

  async runPendingTraps(): Promise<void> {
    for (let signal = this.process.pending.shift(); signal !== undefined; signal = this.process.pending.shift()) {
      const action = this.process.traps.get(signal)
      if (action === undefined || action === null) continue
      const { status } = this
      await BUILTINS['eval']!(this, [action])
      this.status = status
    }
  }

  async capture(body: Script): Promise<Uint8Array> {
    const pipe = new Pipe()
    pipe.reader.retain()
    pipe.writer.retain()
    const child = this.#forkSubshell(
      (shell) => shell.runScript(body),
      (process) => process.setFile(1, pipe.writer),
    )
    pipe.writer.release()
    const chunks: Uint8Array[] = []
    for (let chunk = await pipe.reader.read(this.process, 65_536); chunk !== null;) {
      chunks.push(chunk)
      chunk = await pipe.reader.read(this.process, 65_536)
    }
    pipe.reader.release()
    this.status = (await this.process.waitFor(child)).exitCode
    return Buffer.concat(chunks)
  }

  async complain(message: string): Promise<void> {
    await this.process.write(2, encodePath(`${this.name}: ${message}\n`))
  }

  /** Runs something in which a failure is an answer and no reason to exit. */
  async inCondition(run: () => Promise<unknown>): Promise<boolean> {
    this.#conditions++
    try {
      await run()
    } finally {
      this.#conditions--
    }
    return this.status === 0
  }

  get #shellPid(): number {
    // A subshell reports its parent shell's number, as the standard asks.
    let at = this.process
    while (at.command === 'subshell' && at.parent !== null) at = at.parent
    return at.pid
  }

  async #runItem(item: ListItem): Promise<void> {
    if (!item.background) return this.#runAndOr(item)
    const child = this.#forkSubshell(
      async (shell) => {
        await shell.#runAndOr(item)
        return shell.status
      },
      (process) => {
        process.setFile(0, NULL_DEVICE)
        process.traps.set('SIGINT', null)
        process.traps.set('SIGQUIT', null)
      },
    )
    this.jobs.set(child.pid, child)
    this.#lastJob = String(child.pid)
    this.status = 0
  }

  async #runAndOr(item: ListItem): Promise<void> {
    const tests = item.rest.length
    await this.#runPipeline(item.first, tests > 0)
    for (const [index, { when, pipeline }] of item.rest.entries()) {
      if ((when === '&&') === (this.status === 0)) await this.#runPipeline(pipeline, index + 1 < tests)
    }
  }

  async #runPipeline(pipeline: Pipeline, isTest: boolean): Promise<void> {
    const run = (): Promise<void> =>
      pipeline.commands.length === 1 ? this.#runCommand(pipeline.commands[0]!) : this.#runPiped(pipeline.commands)
    if (isTest || pipeline.negated) await this.inCondition(run)
    else await run()
    if (pipeline.negated) this.status = this.status === 0 ? 1 : 0
    else if (!isTest && this.exitOnFailure && this.#conditions === 0 && this.status !== 0)
      throw new ShellExit(this.status)
  }

  async #runPiped(commands: readonly Command[]): Promise<void> {
    const children: MemoryProcess[] = []
    let input: Pipe | undefined
    for (const [index, command] of commands.entries()) {
      const output = index < commands.length - 1 ? new Pipe() : undefined
      output?.reader.retain()
      output?.writer.retain()
      const from = input
      children.push(
        this.#forkSubshell(
          async (shell) => {
            await shell.#runCommand(command)
            return shell.status
          },
          (process) => {
            if (from !== undefined) process.setFile(0, from.reader)
            if (output !== undefined) process.setFile(1, output.writer)
          },
        ),
      )
      from?.reader.release()
      output?.writer.release()
      input = output
    }
    for (const child of children) this.status = (await this.process.waitFor(child)).exitCode
  }

  async #runCommand(command: Command): Promise<void> {
    if (command.kind === 'simple') return this.#runSimple(command)
    if (command.kind === 'subshell') {
      const child = this.#forkSubshell(async (shell) => {
        await withRedirects(shell, command.redirects, () => shell.runScript(command.body).then(() => {}))
        return shell.status
      })
      this.status = (await this.process.waitFor(child)).exitCode
      return
    }
    await withRedirects(this, command.redirects, () => this.#runCompound(command))
  }

  async #runCompound(command: Exclude<Command, SimpleCommand>): Promise<void> {
    switch (command.kind) {
      case 'if':
        for (const { condition, body } of command.branches) {
          if (await this.inCondition(() => this.runScript(condition))) return void (await this.runScript(body))
        }
        this.status = 0
        return void (await this.runScript(command.otherwise))
      case 'while':
        return this.#loop(
          command,
          async () => (await this.inCondition(() => this.runScript(command.condition))) !== command.until,
        )
      case 'for': {
        const values = command.words === null ? [...this.parameters] : await expandWords(command.words, this)
        return this.#loop(command, () => {
          const value = values.shift()
          if (value !== undefined) this.setVariable(command.name, value)
          return Promise.resolve(value !== undefined)
        })
      }
      case 'case': {
        const subject = await expandText(command.subject, this)
        for (const { patterns, body } of command.branches) {
          for (const pattern of patterns) {
            if ((await expandPattern(pattern, this)).test(subject)) return void (await this.runScript(body))
          }
        }
        this.status = 0
        return
      }
      case 'subshell':
      case 'group':
        await this.runScript(command.body)
    }
  }

  async #loop(command: { readonly body: Script }, next: () => Promise<boolean>): Promise<void> {
    let status = 0
    try {
      while (await next()) {
        try {
          status = await this.runScript(command.body)
        } catch (error) {
          if (!(error instanceof ContinueLoop)) throw error
          if (error.levels > 1) throw new ContinueLoop(error.levels - 1)
          status = 0
        }
      }
    } catch (error) {
      if (!(error instanceof BreakLoop)) throw error
      if (error.levels > 1) throw new BreakLoop(error.levels - 1)
      status = 0
    }
    this.status = status
  }

  async #runSimple(command: SimpleCommand): Promise<void> {
    const statusBefore = this.status
    const [name, ...args] = await expandWords(command.words, this)
    const values = new Map<string, string>()
    for (const { name: variable, value } of command.assignments) values.set(variable, await expandText(value, this))
    if (name === undefined) {
      for (const [variable, value] of values) this.setVariable(variable, value)
      const substituted = command.assignments.some(({ value }) => value.some((part) => part.kind === 'command'))
      if (!substituted && statusBefore === this.status) this.status = 0
      return withRedirects(this, command.redirects, () => Promise.resolve())
    }
    const builtin = Object.hasOwn(BUILTINS, name) ? BUILTINS[name] : undefined
    if (builtin === undefined) return this.#runProgram(command, [name, ...args], values)
    for (const [variable, value] of values) this.setVariable(variable, value)
    const run = async (): Promise<void> => {
      this.status = await builtin(this, args)
    }
    if (name === 'exec') await this.#withLastingRedirects(command, run)
    else await withRedirects(this, command.redirects, run)
  }

  async #withLastingRedirects(command: SimpleCommand, run: () => Promise<void>): Promise<void> {
    const replaced = new Map<number, OpenFile | undefined>()
    const opened = await applyRedirects(this, command.redirects, replaced)
    for (const file of replaced.values()) file?.release()
    if (!opened) throw new ShellExit(1)
    await run()
  }

  async #runProgram(
    command: SimpleCommand,
    argv: readonly string[],
    values: ReadonlyMap<string, string>,
  ): Promise<void> {
    const [name = '', ...args] = argv
    const found = findExecutable(this.process.machine, {
      name,
      from: this.process.directory,
      environment: this.environment(values),
    })
    await withRedirects(this, command.redirects, async () => {
      if (found.kind !== 'program') {
        await this.complain(`${name}: ${found.kind === 'denied' ? 'Permission denied' : 'not found'}`)
        this.status = found.kind === 'denied' ? 126 : 127
      } else if (found.isCheap && values.size === 0) this.status = await found.run(this.process, args)
      else this.status = (await this.#forkProgram(found.run, argv, values)).exitCode
    })
  }

  async #forkProgram(
    run: Program,
    argv: readonly string[],
    values: ReadonlyMap<string, string>,
  ): Promise<ProcessDeath> {
    const child = this.process.fork((process) => run(process, argv.slice(1)), { environment: this.environment(values) })
    child.command = argv.join(' ')
    return this.process.waitFor(child)
  }

  #forkSubshell(
    run: (shell: Shell) => Promise<number>,
    prepare: (process: MemoryProcess) => void = () => {},
  ): MemoryProcess {
    const child = this.process.fork(
      async (process) => {
        process.command = 'subshell'
        const shell = new Shell(process, this)
        for (const [name, value] of this.variables) shell.variables.set(name, value)
        for (const name of this.exported) shell.exported.add(name)
        shell.status = this.status
        shell.exitOnFailure = this.exitOnFailure
        shell.#lastJob = this.#lastJob
        return shell.runToEnd(() => run(shell))
      },
      { environment: this.environment() },
    )
    prepare(child)
    return child
  }

  async #untilExit(run: () => Promise<number>): Promise<number> {
    try {
      return await run()
    } catch (error) {
      if (error instanceof ShellExit) return error.status
      if (error instanceof BreakLoop || error instanceof ContinueLoop) return this.status
      if (!(error instanceof ShellSyntaxError || error instanceof PosixError)) throw error
      await this.complain(error.message)
      return 2
    }
  }
}
