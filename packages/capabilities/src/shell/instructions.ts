/** What an agent is told of the shell tools. */
export const SHELL_INSTRUCTIONS: string = `Commands: run them with exec_command, in the workspace unless workdir says otherwise; an exit code other than 0 is an
answer, not a breakdown. What takes longer than yield_time_ms goes on running: wait for it with write_stdin without chars.
Start servers with background: true. Programs that ask questions need stdin: true, or tty: true for a terminal. Keep output
short: it is cut in the middle when it is long.`
