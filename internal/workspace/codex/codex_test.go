package codex_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/workspace/codex"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendortest"
	"github.com/holdfast-dev/holdfast/transcript"
)

func turn(text string) vendor.Turn {
	return vendor.Turn{Input: []transcript.Part{transcript.Text{Text: text}}, Dir: "/work", Home: "/home/agent"}
}

func deny(a vendor.Answer) func(context.Context, vendor.Permission) (vendor.Answer, error) {
	return func(context.Context, vendor.Permission) (vendor.Answer, error) { return a, nil }
}

const unknownModel = "notice Model metadata for `gpt-5` not found. Defaulting to fallback metadata; this can degrade performance and cause issues."

// Recordings of the real program pass the checks of the test sink.
func TestRecorded(t *testing.T) {
	for _, c := range []struct {
		file   string
		resume string
		decide vendor.Answer
		want   []string
		end    vendor.End
	}{
		{
			file: "first", decide: vendor.Answer{Allow: true},
			want: []string{"assistant: First answer."},
			end:  vendor.End{Text: "First answer.", Turns: 1, Usage: transcript.Usage{Input: 100, Output: 5}},
		},
		{
			file: "resume", resume: "first",
			want: []string{"assistant: Second answer."},
			end:  vendor.End{Text: "Second answer.", Turns: 1, Usage: transcript.Usage{Input: 130, Output: 7}},
		},
		{
			file: "allowed", decide: vendor.Answer{Allow: true},
			want: []string{
				`use call_ls1 Bash {"command":"ls -la; cat nothere"}`,
				"permit call_ls1",
				"failure call_ls1 total 20⏎drwxr-xr-x 3 root root 4096 Nov 22 09:46 .⏎drwxr-xr-x 6 root root 4096 Nov 22 09:46 ..⏎" +
					"-rw-r--r-- 1 root root    2 Nov 22 09:46 gone.txt⏎-rw-r--r-- 1 root root    7 Nov 22 09:46 old.txt⏎" +
					"drwxr-xr-x 2 root root 4096 Nov 22 09:46 sub⏎cat: nothere: No such file or directory⏎exit code 1",
				"assistant: Listed.",
			},
			end: vendor.End{Text: "Listed.", Turns: 2},
		},
		{
			file: "declined",
			want: []string{
				`use call_sh1 Bash {"command":"touch 'made by' codex","cwd":"/work/sub"}`, "permit call_sh1",
				"failure call_sh1 declined", "assistant: The command ran.",
			},
			end: vendor.End{Text: "The command ran.", Turns: 2},
		},
		{
			file: "cancelled", decide: vendor.Answer{Interrupt: true},
			want: []string{
				`use call_sh1 Bash {"command":"touch 'made by' codex","cwd":"/work/sub"}`, "permit call_sh1",
				"failure call_sh1 declined",
			},
			end: vendor.End{Failure: "interrupted", Turns: 1},
		},
		{
			// A call with other arguments than the approved ones cannot be run.
			file: "declined", decide: vendor.Answer{Allow: true, Input: []byte(`{"command":"true"}`)},
			want: []string{
				`use call_sh1 Bash {"command":"touch 'made by' codex","cwd":"/work/sub"}`, "permit call_sh1",
				"failure call_sh1 declined", "assistant: The command ran.",
			},
			end: vendor.End{Text: "The command ran.", Turns: 2},
		},
		{
			file: "background", decide: vendor.Answer{Allow: true},
			want: []string{
				`use call_w1 Bash {"command":"echo a; sleep 2; echo b"}`, "permit call_w1",
				"result call_w1 still running in the background",
				`use call_w2 Bash {"command":"sleep 3"}`, "permit call_w2",
				"notice background task ended (call_w1): exit code 0",
				"result call_w2 exit code 0", "assistant: bg over",
			},
			end: vendor.End{Text: "bg over", Turns: 3},
		},
		{
			file: "patch", decide: vendor.Answer{Allow: true},
			want: []string{
				`use call_patch1 apply_patch {"changes":[{"diff":"x\n","kind":"delete","path":"/work/gone.txt"},` +
					`{"diff":"one\ntwo\n","kind":"add","path":"/work/new.txt"},` +
					`{"diff":"@@ -1 +1 @@\n-before\n+after\n","kind":"update","path":"/work/old.txt"}]}`,
				"permit call_patch1", "result call_patch1 completed", "assistant: Patched.",
			},
			end: vendor.End{Text: "Patched.", Turns: 2},
		},
		{
			file: "mcp", decide: vendor.Answer{Allow: true},
			want: []string{`use call_mcp1 mcp__srv__add {"a":1}`, "permit call_mcp1", "result call_mcp1 sum 3", "assistant: MCP done."},
			end:  vendor.End{Text: "MCP done.", Turns: 2, Usage: transcript.Usage{Input: 12, CacheRead: 8, Output: 4, Reasoning: 2}},
		},
		{
			file: "mcp-declined",
			want: []string{
				`use call_mcp1 mcp__srv__add {"a":1}`, "permit call_mcp1",
				"failure call_mcp1 user rejected MCP tool call", "assistant: MCP done.",
			},
			end: vendor.End{Text: "MCP done.", Turns: 2, Usage: transcript.Usage{Input: 12, CacheRead: 8, Output: 4, Reasoning: 2}},
		},
	} {
		t.Run(c.file, func(t *testing.T) {
			tu := turn("please")
			tu.Resume = c.resume != ""
			n := vendortest.NewRecordingSink(t)
			n.Decide = deny(c.decide)
			end, err := codex.Driver{}.Run(t.Context(), tu, vendortest.Replay(t, "testdata/"+c.file+".wire"), n)
			if err != nil || end != c.end {
				t.Errorf("ended %+v, %v\nwant %+v", end, err, c.end)
			}
			lines := n.Lines()
			if len(lines) == 0 || !strings.HasPrefix(lines[0], "began 01a20200-") {
				t.Fatalf("got %q", lines)
			}
			n.Expect(append([]string{lines[0], unknownModel}, c.want...)...)
		})
	}
}

func TestResumeMissing(t *testing.T) {
	tu := turn("x")
	tu.Session, tu.Resume = "99999999-2222-7333-8444-555555555555", true
	n := vendortest.NewRecordingSink(t)
	end, err := codex.Driver{}.Run(t.Context(), tu, vendortest.Replay(t, "testdata/resume-missing.wire"), n)
	if err != nil || !end.ResumeFailed || !strings.Contains(end.Failure, "no rollout found") {
		t.Errorf("ended %+v, %v", end, err)
	}
	n.Expect()
}

func TestTranscript(t *testing.T) {
	for id, want := range map[string]string{
		"01a20200-0000-7000-8000-000000000001": ".codex/sessions/*/*/*/rollout-*-01a20200-0000-7000-8000-000000000001.jsonl",
		"../../etc/passwd":                     "",
		"*":                                    "",
		"":                                     "",
	} {
		if got := (codex.Driver{}).Transcript(id, "/work"); got != want {
			t.Errorf("of %q: %q", id, got)
		}
	}
}

func TestCommand(t *testing.T) {
	tu := turn("x")
	if got := (codex.Driver{}).Command(tu).Args; !slices.Equal(got[:2], []string{"codex", "app-server"}) {
		t.Errorf("starts %q", got)
	}
	secret := "sk-" + "made-up"
	tu.Env = []string{"OPENAI_API_KEY=" + secret, `OPENAI_BASE_URL=http://127.0.0.1:1/"v1"`}
	got := (codex.Driver{Start: []string{"/opt/codex", "--enable", "x"}}).Command(tu).Args
	line := strings.Join(got, " ")
	if strings.Contains(line, secret) || !strings.HasPrefix(line, "/opt/codex --enable x app-server") ||
		!strings.Contains(line, `cli_auth_credentials_store="ephemeral"`) || !strings.Contains(line, "shell_snapshot=false") ||
		!strings.Contains(line, `base_url="http://127.0.0.1:1/\"v1\""`) || !strings.Contains(line, "supports_websockets=false") {
		t.Errorf("starts %q", got)
	}
}

// greeting is the beginning of every turn.
const greeting = `> {"id":1,"method":"initialize"}
< {"id":1,"result":{"userAgent":"x"}}
> {"method":"initialized"}
> {"id":2,"method":"thread/start"}
< {"id":2,"result":{"thread":{"id":"01a20200-0000-7000-8000-000000000001"}}}
> {"id":3,"method":"turn/start"}
< {"id":3,"result":{"turn":{"id":"t1"}}}
`

const (
	began   = "began 01a20200-0000-7000-8000-000000000001"
	ids     = `"threadId":"01a20200-0000-7000-8000-000000000001","turnId":"t1"`
	theirs  = `"threadId":"01a20200-0000-7000-8000-000000000002","turnId":"t2"`
	through = `< {"method":"turn/completed","params":{` + ids + `,"turn":{"id":"t1","status":"completed"}}}` + "\n"
)

func event(method, of, more string) string {
	return fmt.Sprintf(`< {"method":%q,"params":{%s,%s}}`+"\n", method, of, more)
}

func begun(of, item string) string { return event("item/started", of, `"item":`+item) }
func whole(of, item string) string { return event("item/completed", of, `"item":`+item) }

// Cases that no recording contains.
func TestWire(t *testing.T) {
	for _, c := range []struct {
		name string
		wire string
		want []string
		end  vendor.End
		err  error
		text string
	}{
		{
			name: "unknown messages are reported once and skipped",
			wire: "< this is no JSON\n< [1]\n< {}\n\n" + event("moon/phase", ids, `"x":1`) + event("moon/phase", ids, `"x":2`) +
				whole(ids, `{"type":"hologram","id":"i1"}`) + event("thread/newThing", ids, `"x":2`) +
				event("item/completed", ids, `"item":7`) +
				event("configWarning", ids, `"summary":"Codex could not find bubblewrap on PATH."`) + through, // its sandbox is off
			want: []string{
				"notice not a message: this is no JSON", "notice not a message: [1]",
				"notice not a message: {}", "notice unknown event type: moon/phase",
				"notice unknown item type: hologram",
				"notice invalid item",
			},
		},
		{
			name: "requests of unknown kinds are refused",
			wire: `< {"id":"q","method":"moon/landing","params":{}}` + "\n" + `> {"id":"q"}` + "\n" +
				`< {"id":"p","method":"item/permissions/requestApproval","params":{` + ids + `,"itemId":"i","permissions":{"network":{"enabled":true}}}}` + "\n" +
				`> {"id":"p","result":{"permissions":{},"scope":"turn"}}` + "\n" +
				`< {"id":"c","method":"item/fileChange/requestApproval","params":{` + ids + `,"itemId":"unheard-of"}}` + "\n" +
				`> {"id":"c","result":{"decision":"decline"}}` + "\n" +
				`< {"id":"e","method":"mcpServer/elicitation/request","params":{` + ids + `,"serverName":"s","message":"Your name?"}}` + "\n" +
				`> {"id":"e","result":{"action":"decline","content":null,"_meta":null}}` + "\n" + through,
			want: []string{
				"notice unknown request type: moon/landing",
				"notice the agent requested permission for an unknown file change",
				"notice the server s asked a question, which is not supported here: Your name?",
			},
		},
		{
			name: "an answer that comes twice begins nothing twice",
			wire: `< {"id":2,"result":{"thread":{"id":"01a20200-0000-7000-8000-000000000001"}}}` + "\n" + `< {"id":1,"result":{}}` + "\n" +
				`< {"id":"q","method":"moon/landing","params":{}}` + "\n" + `> {"id":"q"}` + "\n" + through,
			want: []string{
				`notice not a message: {"id":2,"result":{"thread":{"id":"01a20200-0000-7000-8000-000000000001"}}}`,
				`notice not a message: {"id":1,"result":{}}`, "notice unknown request type: moon/landing",
			},
		},
		{
			name: "a use without a request is reported as running",
			wire: begun(ids, `{"type":"webSearch","id":"w1","query":"weather"}`) +
				whole(ids, `{"type":"webSearch","id":"w1","query":"weather"}`) +
				begun(ids, `{"type":"commandExecution","id":"c1","command":"make"}`) +
				event("item/commandExecution/outputDelta", ids, `"itemId":"c1","delta":"building\n"`) +
				whole(ids, `{"type":"commandExecution","id":"c1","command":"make","status":"completed","aggregatedOutput":"building\n","exitCode":0}`) + through,
			want: []string{
				"running w1", `use w1 WebSearch {"action":null,"query":"weather"}`, "result w1 done",
				"running c1", `use c1 Bash {"command":"make"}`, "result c1 building⏎",
			},
		},
		{
			name: "an additional request of a command is part of its approval",
			wire: begun(ids, `{"type":"commandExecution","id":"c1","command":"curl x"}`) +
				`< {"id":1,"method":"item/commandExecution/requestApproval","params":{` + ids + `,"itemId":"c1","command":"curl x"}}` + "\n" +
				`> {"id":1,"result":{"decision":"accept"}}` + "\n" +
				`< {"id":2,"method":"item/commandExecution/requestApproval","params":{` + ids + `,"itemId":"c1","command":"curl x","networkApprovalContext":{"host":"example.org","protocol":"https"}}}` + "\n" +
				`> {"id":2,"result":{"decision":"accept"}}` + "\n" +
				whole(ids, `{"type":"commandExecution","id":"c1","command":"curl x","status":"completed","exitCode":0}`) + through,
			want: []string{
				`use c1 Bash {"command":"curl x"}`, "permit c1",
				`permit c1/1 of "c1": WebFetch {"url":"https://example.org"}`, "result c1 exit code 0",
			},
		},
		{
			name: "a sub-agent's commands are a part of what runs",
			wire: begun(ids, `{"type":"collabAgentToolCall","id":"w","tool":"wait","prompt":"do it"}`) +
				event("thread/tokenUsage/updated", ids, `"tokenUsage":{"total":{"inputTokens":3},"last":{"inputTokens":3}}`) +
				begun(theirs, `{"type":"commandExecution","id":"c9","command":"id"}`) +
				`< {"id":1,"method":"item/commandExecution/requestApproval","params":{` + theirs + `,"itemId":"c9","command":"id"}}` + "\n" +
				`> {"id":1,"result":{"decision":"accept"}}` + "\n" +
				whole(theirs, `{"type":"commandExecution","id":"c9","command":"id","status":"completed","exitCode":0}`) +
				whole(theirs, `{"type":"agentMessage","id":"m9","text":"I am a sub-agent."}`) +
				whole(ids, `{"type":"collabAgentToolCall","id":"w","tool":"wait","status":"completed","agentsStates":{"a":"done"}}`) + through,
			want: []string{
				"running w", `use w Agent {"action":"wait","prompt":"do it"}`, `permit c9 of "w": Bash {"command":"id"}`,
				`result w {"a":"done"}`,
			},
			end: vendor.End{Turns: 1, Usage: transcript.Usage{Input: 3}},
		},
		{
			name: "thoughts belong to the next item",
			wire: whole(ids, `{"type":"reasoning","id":"r","summary":["first"],"content":["second"]}`) +
				whole(ids, `{"type":"agentMessage","id":"m","text":"Said."}`) + through,
			want: []string{"assistant thinks: first⏎⏎second", "assistant: Said."},
			text: "Said.",
		},
		{
			name: "an error of the model's",
			wire: event("error", ids, `"error":{"message":"overloaded"},"willRetry":true`) +
				event("error", ids, `"error":{"message":"no more"},"willRetry":false`) +
				event("turn/completed", ids, `"turn":{"id":"t1","status":"failed","error":{"message":"no more","additionalDetails":"quota"}}`),
			want: []string{"notice overloaded (retrying)"},
			end:  vendor.End{Failure: "no more: quota"},
		},
		{
			name: "the end of another turn is ignored",
			wire: event("turn/completed", theirs, `"turn":{"id":"t2","status":"completed"}`) +
				event("turn/completed", ids, `"turn":{"id":"t0","status":"completed"}`) +
				whole(ids, `{"type":"agentMessage","id":"m","text":"Mine."}`) + through,
			want: []string{"assistant: Mine."},
			text: "Mine.",
		},
		{
			name: "the process ends",
			wire: whole(ids, `{"type":"reasoning","id":"r","summary":["so far"]}`) +
				begun(ids, `{"type":"commandExecution","id":"c1","command":"make"}`) + `< {"method":"turn/comp`,
			want: []string{
				`notice not a message: {"method":"turn/comp`,
				"running c1", "assistant thinks: so far", `use c1 Bash {"command":"make"}`,
			},
			err: io.ErrUnexpectedEOF,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := vendortest.NewRecordingSink(t)
			end, err := codex.Driver{}.Run(t.Context(), turn("x"), vendortest.ReplayText(t, greeting+c.wire), n)
			if c.end.Text = c.text; end != c.end || !errors.Is(err, c.err) {
				t.Errorf("ended %+v, %v", end, err)
			}
			n.Expect(append([]string{began}, c.want...)...)
		})
	}
}

// Lines may be long enough for an image or a file.
func TestLongLine(t *testing.T) {
	long := strings.Repeat("x", 20<<20)
	n := vendortest.NewRecordingSink(t)
	end, err := codex.Driver{}.Run(t.Context(), turn("x"),
		vendortest.ReplayText(t, greeting+whole(ids, `{"type":"agentMessage","id":"m","text":"`+long+`"}`)+through), n)
	if err != nil || end.Text != long {
		t.Errorf("a text of %d bytes, %v", len(end.Text), err)
	}
}

// An approval request that was answered elsewhere or is obsolete is withdrawn.
func TestWithdrawn(t *testing.T) {
	n := vendortest.NewRecordingSink(t)
	withdrawn := make(chan struct{})
	n.Decide = func(ctx context.Context, _ vendor.Permission) (vendor.Answer, error) {
		<-ctx.Done()
		close(withdrawn)
		return vendor.Answer{}, ctx.Err()
	}
	_, err := codex.Driver{}.Run(t.Context(), turn("x"), vendortest.ReplayText(t, greeting+
		begun(ids, `{"type":"commandExecution","id":"c1","command":"make"}`)+
		`< {"id":7,"method":"item/commandExecution/requestApproval","params":{`+ids+`,"itemId":"c1","command":"make"}}`+"\n"+
		event("serverRequest/resolved", ids, `"requestId":7`)+
		event("turn/completed", ids, `"turn":{"id":"t1","status":"interrupted"}`)), n)
	if err != nil {
		t.Error(err)
	}
	<-withdrawn
}

func FuzzWire(f *testing.F) {
	for _, name := range []string{"allowed", "background", "patch", "mcp", "cancelled"} {
		b, err := os.ReadFile("testdata/" + name + ".wire")
		if err != nil {
			f.Fatal(err)
		}
		var output strings.Builder
		for line := range strings.Lines(string(b)) {
			if s, ok := strings.CutPrefix(line, "< "); ok {
				output.WriteString(s)
			}
		}
		f.Add(output.String())
	}
	f.Fuzz(func(t *testing.T, output string) {
		_, _ = codex.Driver{}.Run(t.Context(), turn("x"), vendortest.Output(output), vendortest.NewRecordingSink(t))
	})
}
