package main

// A recording is a list of commands that run one after the other in a terminal.
type recording struct {
	name          string // the file below docs, without .svg
	title         string // the text alternative of the picture
	columns, rows int
	play          string // the scripted model, a file of plays/
	fresh         bool   // starts with an unchanged project
	commands      []command
}

// A command is one line that is typed into a shell.
type command struct {
	line string

	answers []answer // keys pressed while the command runs
	kill    string   // text after which the process is killed
}

// An answer is pressed when its text has appeared and the command waits.
type answer struct{ after, keys string }

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
		commands: []command{{line: fixIt, answers: []answer{{"sh test.sh", "a"}, {"exactly", "1"}, {"calendar.sh", "y"}}}},
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
