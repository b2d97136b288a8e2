package main

import "time"

const (
	idleTime       = 600 * time.Millisecond // a command that prints nothing for this time waits for a key
	commandTimeout = time.Minute
)

// A recording is a list of commands that run one after the other in a terminal.
type recording struct {
	name          string // the file below docs, without .svg
	title         string // the text alternative of the picture
	columns, rows int
	play          string // the scripted model, a file of plays/
	fresh         bool   // starts with an unchanged project
	conversation  bool   // its only command moves the cursor
	commands      []command
}

// A command is one line that is typed into a shell.
type command struct {
	line string

	answers []answer // keys pressed while the command runs
	kill    string   // text after which the process is killed
}

// An answer is pressed when its text has appeared and the command waits.
type answer struct {
	after, keys string
	busy        bool // do not wait until nothing changes
}

const fixIt = `holdfast run "One of the tests fails. Fix it."`

// The audit recording shows the session of the recording before it.
var recordings = []recording{
	{
		name: "demo", title: "holdfast demo: an agent is killed in the middle of its work, and another process resumes the session",
		columns: 100, rows: 28, fresh: true,
		commands: []command{{line: "holdfast demo --rm"}},
	},
	{
		name: "recordings/first-run", title: "The first run: an agent asks before it runs a command and before it changes a file",
		columns: 100, rows: 28, play: "first.yaml", fresh: true,
		commands: []command{{line: fixIt, answers: []answer{{after: "sh test.sh", keys: "a"}, {after: "exactly", keys: "1"}, {after: "calendar.sh", keys: "y"}}}},
	},
	{
		name: "recordings/conversation", title: "A conversation: the user writes while the agent works, and the agent asks before it runs a command and before it changes a file",
		columns: 92, rows: 30, play: "conversation.yaml", fresh: true, conversation: true,
		commands: []command{{line: "holdfast", answers: []answer{
			{after: "ask for something", keys: "One of the tests fails. Fix it.\r"},
			{after: "sh test.sh", keys: "y"},
			{after: "permission Edit", keys: "y"},
			{after: "sh walk.sh", keys: "y"},
			{after: "Bash  sh test.sh && sh walk.sh", keys: "Is New Year's Eve tested, too?\r", busy: true},
			{after: "model calls", keys: "\x04"},
		}}},
	},
	{
		name: "recordings/audit-show", title: "holdfast audit show: who allowed what in the session, and what happened",
		columns: 120, rows: 24, play: "first.yaml",
		commands: []command{{line: "holdfast audit show"}, {line: "holdfast audit verify"}},
	},
	{
		name: "recordings/resume", title: "A run is killed with kill -9; holdfast run --continue resumes it",
		columns: 100, rows: 28, play: "resume.yaml", fresh: true,
		commands: []command{
			{line: `holdfast run --allowed-tools "Edit,Bash(sh:*)" "One of the tests fails. Fix it."`, kill: "ctrl-c"},
			{line: `holdfast run --allowed-tools "Edit,Bash(sh:*)" --continue`},
		},
	},
	{
		name: "recordings/policy-explain", title: "holdfast policy explain: what would happen to a tool call, and why",
		columns: 120, rows: 28, fresh: true,
		commands: []command{{line: "holdfast policy explain -- git push --force"}, {line: "holdfast policy explain Read ~/.ssh/id_ed25519"}},
	},
}
