package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// A call with invalid arguments fails, and the client's session continues.
func TestInvalidArguments(t *testing.T) {
	w := newServerEnv(t, policy.ModeDefault)
	s := w.connect()
	for _, args := range []string{
		`[1]`, `"x"`, `5`, `true`, `{"text":1e999}`, `{"text":"a","text":"b"}`, `{"other":1}`, `{"text":{}}`, `{"text":"\ud800"}`, `{"text":"\u0000\u001b[2J"}`,
		`{"text":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`, `null`, `{}`,
	} {
		_, _ = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "Echo", Arguments: json.RawMessage(args)})
		if text, failed, err := callTool(t.Context(), s, "Echo", "still here"); err != nil || failed || text != "still here" {
			t.Errorf("after %.40s: %q, %v, %v", args, text, failed, err)
		}
	}
	if list, err := w.sessions.List(t.Context(), session.Query{}); err != nil || len(list.Sessions) != 1 {
		t.Errorf("%d sessions, %v", len(list.Sessions), err)
	}
}

// The name of a client is shown to users, so it is limited.
func TestClientNameIsPrintable(t *testing.T) {
	for _, name := range []string{strings.Repeat("x", 99) + "é", "a\x1b[31mb\nc\u202ed", "\xff\xfe", " \n "} {
		got := printableName(&mcp.Implementation{Name: name, Version: "1\x07"})
		if got == "" || len(got) > 100 || !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q is shown as %q", name, got)
		}
	}
}
