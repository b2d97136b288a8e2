package cli

// HomeEntry says what lies under a name directly below $HOLDFAST_HOME, and how erasing
// reaches it.
type HomeEntry struct {
	Holds  string
	Erased string // how what is erased leaves it; "" when it has no text of sessions
	Stays  string // why it may keep text all the same, and what to do
}

// HomeEntries is the register of what this program makes below $HOLDFAST_HOME. A test fails
// when something else is there, and docs/erasure.md lists it for people.
func HomeEntries() map[string]HomeEntry {
	return map[string]HomeEntry{
		"sessions.db":         {Holds: "the default store", Erased: "payloads are overwritten with zeros (secure_delete)"},
		"sessions.db-wal":     {Holds: "its journal", Erased: "written back and emptied"},
		"sessions.db-shm":     {Holds: "its index of the journal, without text"},
		"sessions.db-holders": {Holds: "locks of programs that hold sessions: it is empty"},
		"index":               {Holds: "indexes for searching", Erased: "the session is taken out at once"},
		"output":              {Holds: "long outputs of commands", Erased: "files are removed"},
		"exports": {
			Holds: "notes of what was exported where, without text",
			Stays: "an export of the audit trail, and one that was changed, is yours: remove the file",
		},
		"caches": {
			Holds: "caches of compilers and package managers that commands write, without text of sessions",
			Stays: "commands wrote it: holdfast sandbox caches --remove NAME removes it",
		},
		"namespaces":    {Holds: "that the kernel gives us namespaces, without text"},
		"audit":         {Holds: "ids, digests, signatures and the log of logins and tokens, without text"},
		"run":           {Holds: "the daemon's socket, lock and hashes of tokens, without text"},
		"settings.json": {Holds: "your settings", Stays: "rules that you write there are yours: edit the file"},
		"trust.json":    {Holds: "digests of what you trust, without text"},
		"keys.json":     {Holds: "keys of model providers, without text of sessions"},
		"mcp":           {Holds: "tokens for MCP servers, without text of sessions"},
		"workspaces": {
			Holds: "folders of containers, with what agents of other makes keep there",
			Stays: "files that agents write are yours: holdfast workspace delete removes them",
		},
		"images":    {Holds: "what containers are made of, without text of sessions"},
		"agents":    {Holds: "your definitions of sub-agents, without text of sessions"},
		"commands":  {Holds: "your commands, without text of sessions"},
		"skills":    {Holds: "your skills, without text of sessions"},
		"AGENTS.md": {Holds: "your instructions, without text of sessions"},
	}
}
