package cli

// HomeEntry says what lies under a name directly below $HOLDFAST_HOME, and how erasing
// reaches it.
type HomeEntry struct {
	Content  string
	Erasure  string // how what is erased leaves it; "" when it has no text of sessions
	Retained string // why it may keep text all the same, and what to do
}

// HomeEntries is the register of what this program makes below $HOLDFAST_HOME. A test fails
// when something else is there, and docs/erasure.md lists it for people.
func HomeEntries() map[string]HomeEntry {
	return map[string]HomeEntry{
		"sessions.db":         {Content: "the default store", Erasure: "payloads are overwritten with zeros (secure_delete)"},
		"sessions.db-wal":     {Content: "its journal", Erasure: "written back and emptied"},
		"sessions.db-shm":     {Content: "its index of the journal, without text"},
		"sessions.db-holders": {Content: "locks of programs that hold sessions: it is empty"},
		"index":               {Content: "indexes for searching", Erasure: "the session is taken out at once"},
		"output":              {Content: "long outputs of commands", Erasure: "files are removed"},
		"exports": {
			Content:  "notes of what was exported where, without text",
			Retained: "an export of the audit trail, and one that was changed, is yours: remove the file",
		},
		"caches": {
			Content:  "caches of compilers and package managers that commands write, without text of sessions",
			Retained: "commands wrote it: holdfast sandbox caches --remove NAME removes it",
		},
		"namespaces":    {Content: "that the kernel gives us namespaces, without text"},
		"audit":         {Content: "ids, digests, signatures and the log of logins and tokens, without text"},
		"run":           {Content: "the daemon's socket, lock and hashes of tokens, without text"},
		"settings.json": {Content: "your settings", Retained: "rules that you write there are yours: edit the file"},
		"trust.json":    {Content: "digests of what you trust, without text"},
		"keys.json":     {Content: "keys of model providers, without text of sessions"},
		"mcp":           {Content: "tokens for MCP servers, without text of sessions"},
		"workspaces": {
			Content:  "folders of containers, with what agents of other makes keep there",
			Retained: "files that agents write are yours: holdfast workspace delete removes them",
		},
		"images":    {Content: "what containers are made of, without text of sessions"},
		"agents":    {Content: "your definitions of sub-agents, without text of sessions"},
		"commands":  {Content: "your commands, without text of sessions"},
		"skills":    {Content: "your skills, without text of sessions"},
		"AGENTS.md": {Content: "your instructions, without text of sessions"},
	}
}
