package cli

// HomeEntry describes a file or folder directly below $HOLDFAST_HOME, and what erasing a session
// does to it.
type HomeEntry struct {
	Content  string
	Erasure  string // how erased text is removed from this file or folder; "" if it contains no session text
	Retained string // why it can still contain text afterwards, and how to remove that text
}

// HomeEntries lists everything that this program creates below $HOLDFAST_HOME. A test fails if this
// program creates anything else there. docs/erasure.md lists the entries for users.
func HomeEntries() map[string]HomeEntry {
	return map[string]HomeEntry{
		"sessions.db":         {Content: "the default store", Erasure: "payloads are overwritten with zeros (secure_delete)"},
		"sessions.db-wal":     {Content: "its journal", Erasure: "written back and emptied"},
		"sessions.db-shm":     {Content: "the index of the journal, without text"},
		"sessions.db-holders": {Content: "locks of programs that have sessions open; empty"},
		"index":               {Content: "search indexes", Erasure: "the session is removed at once"},
		"output":              {Content: "long outputs of commands", Erasure: "the files are removed"},
		"history.jsonl": {
			Content: "what you sent in conversations, with secrets masked", Erasure: "lines of the session with a match are removed; with --seq and delete, all of its lines",
		},
		"notices.json":       {Content: "digests of notices that you have seen, and the folders where, without session text"},
		"history.jsonl.lock": {Content: "its lock, empty"},
		"exports": {
			Content:  "names of exported files, without session text",
			Retained: "exports, also those of the audit trail, belong to you: remove the files yourself",
		},
		"caches": {
			Content:  "caches that compilers and package managers write, without session text",
			Retained: "written by commands: holdfast sandbox caches --remove NAME removes them",
		},
		"namespaces":    {Content: "the result of the kernel's namespace check, without text"},
		"audit":         {Content: "ids, digests, signatures and the access log, without text"},
		"run":           {Content: "the daemon's sockets, lock, log and hashed tokens, without session text"},
		"settings.json": {Content: "your settings", Retained: "you write these rules yourself: edit the file"},
		"trust.json":    {Content: "digests of trusted content, without text"},
		"keys.json":     {Content: "API keys of model providers, without session text"},
		"mcp":           {Content: "tokens for MCP servers, without session text"},
		"workspaces": {
			Content:  "folders of workspaces, with the files of vendor agents",
			Retained: "files written by agents belong to you: holdfast workspace delete removes them",
		},
		"images":    {Content: "parts of workspace images, without session text"},
		"agents":    {Content: "your sub-agent definitions, without session text"},
		"commands":  {Content: "your commands, without session text"},
		"skills":    {Content: "your skills, without session text"},
		"AGENTS.md": {Content: "your instruction files, without session text"},
	}
}
