package files_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
)

// TestToolsOfTheCorpus claims what the cases say of tools that write; package shell has
// those about commands.
func TestToolsOfTheCorpus(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "agentkit-commaagents-parachute.json", "tools"), map[string]func(*testing.T, corpus.Case){
		"ak-tool-005": corpus.Test(`{"given": {"policy":"must read before write"}, "when": ["write unread existing file","read it then write","read its parent directory listing then write"], "expect": {"results":["rejected","ok","rejected (listing is not reading)"]}}`, func(t *testing.T, _ corpus.Case) {
			d := newFilesEnv(t, nil)
			d.put("f", "old")
			wants(t, d.write("f", "new"), "read it first")
			wants(t, textOf(d.call("Read", read{Path: "."})), "is a directory") // which is not reading what is in it
			wants(t, d.write("f", "new"), "read it first")
			d.read("f")
			wants(t, d.write("f", "new"), "Successfully wrote")
		}),
	}, map[string]string{
		"ak-tool-001": "package shell tries it", "ak-tool-006": "package shell tries it", "ak-tool-007": "package shell tries it",
	})
}
