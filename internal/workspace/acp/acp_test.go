package acp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/workspace/acp"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendortest"
	"github.com/holdfast-dev/holdfast/transcript"
)

func turn(text string) vendor.Turn {
	return vendor.Turn{Input: []transcript.Part{transcript.Text{Text: text}}, Dir: "/work", Home: "/home/agent"}
}

// The beginning of a turn: the agent can load sessions.
const (
	hello = `> {"id":1,"method":"initialize"}
< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}
`
	fresh = hello + `> {"id":2,"method":"session/new"}
< {"id":2,"result":{"sessionId":"s1"}}
> {"id":3,"method":"session/prompt"}
`
	through = `< {"id":3,"result":{"stopReason":"end_turn"}}` + "\n"
)

func update(fields string) string {
	return `< {"method":"session/update","params":{"sessionId":"s1","update":{` + fields + "}}}\n"
}

func messageChunk(text string) string {
	return update(fmt.Sprintf(`"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}`, text))
}

func begins(fields string) string  { return update(`"sessionUpdate":"tool_call",` + fields) }
func changes(fields string) string { return update(`"sessionUpdate":"tool_call_update",` + fields) }

const options = `"options":[{"optionId":"aa","kind":"allow_always"},{"optionId":"a1","kind":"allow_once"},{"optionId":"r1","kind":"reject_once"}]`

func asks(id int, call, answer string) string {
	return fmt.Sprintf(`< {"id":%d,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{%s},%s}}`, id, call, options) + "\n" +
		fmt.Sprintf(`> {"id":%d,"result":{"outcome":%s}}`, id, answer) + "\n"
}

const (
	yes       = `{"outcome":"selected","optionId":"a1"}`
	no        = `{"outcome":"selected","optionId":"r1"}`
	cancelled = `{"outcome":"cancelled"}`
)

func TestWire(t *testing.T) {
	allow := vendor.Answer{Allow: true}
	for _, c := range []struct {
		name   string
		wire   string
		decide vendor.Answer
		want   []string
		end    vendor.End
		err    error
	}{
		{
			name: "a text in chunks is one item",
			wire: fresh + update(`"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm"}`) +
				messageChunk("One ") + messageChunk("two.") + begins(`"toolCallId":"c","title":"x","kind":"think","status":"completed"`) + messageChunk("Three.") + through,
			want: []string{
				"assistant thinks: Hm", "assistant: One two.", "running c", `use c think {"title":"x"}`, "result c completed", "assistant: Three.",
			},
			end: vendor.End{Text: "Three."},
		},
		{
			name: "an answer that comes twice begins nothing twice",
			wire: fresh + `< {"id":2,"result":{"sessionId":"s1"}}` + "\n" + `< {"id":"q","method":"fs/read","params":{}}` + "\n" + `> {"id":"q"}` + "\n" + through,
			want: []string{`notice not a message: {"id":2,"result":{"sessionId":"s1"}}`, "notice unsupported request: fs/read"},
		},
		{
			name: "numbers of another kind are no reason to miss the end",
			wire: fresh + messageChunk("Done.") + `< {"id":3,"result":{"stopReason":"end_turn","usage":{"inputTokens":1.5,"outputTokens":"many"}}}` + "\n",
			want: []string{"assistant: Done."}, end: vendor.End{Text: "Done."},
		},
		{
			name: "a command is asked about and allowed for this time", decide: allow,
			wire: fresh + begins(`"toolCallId":"c","title":"make","kind":"execute","status":"pending","rawInput":{"command":["bash","-lc","make all"],"cwd":"/work/sub"}`) +
				asks(0, `"toolCallId":"c"`, yes) + changes(`"toolCallId":"c","status":"in_progress"`) +
				changes(`"toolCallId":"c","status":"completed","content":[{"type":"content","content":{"type":"text","text":"built"}}]`) + through,
			want: []string{`use c Bash {"command":"make all","cwd":"/work/sub"}`, "permit c", "result c built"},
		},
		{
			name: "and refused",
			wire: fresh + asks(0, `"toolCallId":"c","title":"rm","kind":"execute","rawInput":{"command":"rm x"}`, no) +
				changes(`"toolCallId":"c","status":"failed"`) + through,
			want: []string{`use c Bash {"command":"rm x"}`, "permit c", "failure c failed"},
		},
		{
			name: "and the turn is ended", decide: vendor.Answer{Interrupt: true},
			wire: fresh + asks(0, `"toolCallId":"c","title":"rm","kind":"execute","rawInput":{"command":"rm x"}`, cancelled) +
				`> {"method":"session/cancel"}` + "\n" + `< {"id":3,"result":{"stopReason":"cancelled"}}` + "\n",
			want: []string{`use c Bash {"command":"rm x"}`, "permit c"},
			end:  vendor.End{Failure: "interrupted"},
		},
		{
			name: "other arguments cannot be run", decide: vendor.Answer{Allow: true, Input: []byte(`{"command":"true"}`)},
			wire: fresh + asks(0, `"toolCallId":"c","kind":"execute","rawInput":{"command":"rm x"}`, no) + through,
			want: []string{`use c Bash {"command":"rm x"}`, "permit c"},
		},
		{
			name: "what can be allowed only for always is not allowed", decide: allow,
			wire: fresh + `< {"id":5,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c","title":"ls","kind":"execute","rawInput":{"command":"ls"}},"options":[{"optionId":"aa","kind":"allow_always"}]}}` + "\n" +
				`> {"id":5,"result":{"outcome":{"outcome":"cancelled"}}}` + "\n" + through,
			want: []string{"notice the agent offers no \"allow once\" option: ls", `use c Bash {"command":"ls"}`, "permit c"},
		},
		{
			name: "a command without its text is decided by its kind", decide: allow,
			wire: fresh + asks(0, `"toolCallId":"c","title":"ls","kind":"execute","rawInput":{"Command":"rm"}`, yes) +
				changes(`"toolCallId":"c","status":"completed"`) + through,
			want: []string{`use c execute {"input":{"Command":"rm"},"title":"ls"}`, "permit c", "result c completed"},
		},
		{
			name: "a command that runs while the agent answers", decide: allow,
			wire: fresh + asks(0, `"toolCallId":"c","kind":"execute","rawInput":{"command":"serve"}`, yes) + messageChunk("It serves.") +
				changes(`"toolCallId":"c","status":"completed"`) + through,
			want: []string{
				`use c Bash {"command":"serve"}`, "permit c", "result c still running in the background",
				"assistant: It serves.", "notice background task ended (c): completed",
			},
			end: vendor.End{Text: "It serves."},
		},
		{
			name: "what a sub-agent wants is a part of what runs", decide: allow,
			wire: fresh + asks(0, `"toolCallId":"t","title":"look around","kind":"think"`, yes) +
				begins(`"toolCallId":"c","kind":"execute","rawInput":{"command":"id"}`) + asks(1, `"toolCallId":"c"`, yes) +
				changes(`"toolCallId":"c","status":"completed"`) + changes(`"toolCallId":"t","status":"completed"`) + through,
			want: []string{`use t think {"title":"look around"}`, "permit t", `permit c of "t": Bash {"command":"id"}`, "result t completed"},
		},
		{
			name: "a second question is about something else", decide: allow,
			wire: fresh + asks(0, `"toolCallId":"c","kind":"edit","locations":[{"path":"/work/a"}]`, yes) +
				asks(1, `"toolCallId":"c","kind":"edit","locations":[{"path":"/work/b"}]`, yes) + changes(`"toolCallId":"c","status":"completed"`) + through,
			want: []string{
				`use c apply_patch {"changes":[{"diff":"","kind":"update","path":"/work/a"}]}`, "permit c",
				`permit c/1 of "c": apply_patch {"changes":[{"diff":"","kind":"update","path":"/work/b"}]}`, "result c completed",
			},
		},
		{
			name: "a plan",
			wire: fresh + update(`"sessionUpdate":"plan","entries":[{"content":"build","priority":"high","status":"pending"}]`) + through,
			want: []string{
				"running plan-1", `use plan-1 TodoWrite {"todos":[{"activeForm":"build","content":"build","status":"pending"}]}`, "result plan-1 noted",
			},
		},
		{
			name: "unknown messages are reported once and skipped",
			wire: fresh + "< hello there\n" + update(`"sessionUpdate":"dream"`) + update(`"sessionUpdate":"dream"`) +
				update(`"sessionUpdate":"tool_call","title":"nameless"`) + update(`"sessionUpdate":"tool_call","toolCallId":7`) +
				`< {"method":"moon/phase"}` + "\n" + update(`"sessionUpdate":"usage_update"`) +
				`< {"id":"f","method":"fs/read_text_file","params":{"path":"/etc/passwd"}}` + "\n" + `> {"id":"f"}` + "\n" +
				`< {"id":"p","method":"session/request_permission","params":{"sessionId":"s2","toolCall":{"toolCallId":"c"}}}` + "\n" + `> {"id":"p"}` + "\n" + through,
			want: []string{
				"notice not a message: hello there", "notice unknown update type: dream",
				"notice tool call without an id: nameless",
				"notice invalid update",
				"notice unknown event type: moon/phase", "notice unsupported request: fs/read_text_file",
				"notice invalid permission request, or unknown tool call",
			},
		},
		{
			name: "the process ends",
			wire: fresh + messageChunk("So far") + begins(`"toolCallId":"c","kind":"read","locations":[{"path":"/work/a"}]`) + `< {"method":"sess`,
			want: []string{
				"assistant: So far", `notice not a message: {"method":"sess`, "running c", `use c Read {"file_path":"/work/a"}`,
			},
			err: io.ErrUnexpectedEOF,
		},
		{
			name: "too many words",
			wire: fresh + messageChunk("So") + `< {"id":3,"result":{"stopReason":"max_tokens"}}` + "\n",
			want: []string{"assistant: So"},
			end:  vendor.End{Failure: "the agent stopped before it finished: max_tokens"},
		},
		{
			name: "an error of the agent's",
			wire: fresh + `< {"id":3,"error":{"code":-32603,"message":"Internal error","data":{"details":"no money"}}}` + "\n",
			end:  vendor.End{Failure: "Internal error: no money (code -32603)"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := vendortest.NewRecordingSink(t)
			n.Decide = func(context.Context, vendor.Permission) (vendor.Answer, error) { return c.decide, nil }
			end, err := acp.Driver{}.Run(t.Context(), turn("x"), vendortest.ReplayText(t, c.wire), n)
			if end != c.end || !errors.Is(err, c.err) {
				t.Errorf("ended %+v, %v", end, err)
			}
			n.Expect(append([]string{"began s1"}, c.want...)...)
		})
	}
}

func TestBegin(t *testing.T) {
	const prompt = `> {"id":3,"method":"session/prompt"}` + "\n" + through
	able := func(capabilities string) string {
		return `> {"id":1,"method":"initialize"}` + "\n" +
			`< {"id":1,"result":{"protocolVersion":1,"agentCapabilities":` + capabilities + `,"authMethods":[{"id":"o","name":"OAuth"}]}}` + "\n"
	}
	for _, c := range []struct {
		name   string
		resume bool
		model  string
		wire   string
		want   []string
		end    vendor.End
	}{
		{
			name: "a session is loaded, and its history is not repeated", resume: true,
			wire: hello + `> {"id":2,"method":"session/load"}` + "\n" + messageChunk("as I said before") + `< {"id":2,"result":null}` + "\n" +
				`> {"id":3,"method":"session/prompt"}` + "\n" + messageChunk("New.") + through,
			want: []string{"began s1", "assistant: New."}, end: vendor.End{Text: "New."},
		},
		{
			name: "or resumed where the agent can", resume: true,
			wire: able(`{"loadSession":true,"sessionCapabilities":{"resume":{}}}`) + `> {"id":2,"method":"session/resume"}` + "\n" +
				`< {"id":2,"result":{}}` + "\n" + prompt,
			want: []string{"began s1"},
		},
		{
			name: "or neither", resume: true, wire: able(`{}`),
			end: vendor.End{Failure: "the agent cannot resume a session", ResumeFailed: true},
		},
		{
			name: "a missing session", resume: true,
			wire: hello + `> {"id":2,"method":"session/load"}` + "\n" + `< {"id":2,"error":{"code":-32002,"message":"Session not found"}}` + "\n",
			end:  vendor.End{Failure: "Session not found (code -32002)", ResumeFailed: true},
		},
		{
			name: "an agent without a login",
			wire: able(`{}`) + `> {"id":2,"method":"session/new"}` + "\n" + `< {"id":2,"error":{"code":-32000,"message":"Authentication required"}}` + "\n",
			end:  vendor.End{Failure: "the agent is not logged in (Authentication required (code -32000)); its login methods: OAuth"},
		},
		{
			name: "another version", wire: `> {"id":1,"method":"initialize"}` + "\n" + `< {"id":1,"result":{"protocolVersion":9}}` + "\n",
			end: vendor.End{Failure: "the agent speaks version 9 of the Agent Client Protocol, version 1 is required"},
		},
		{
			name: "the mode in which it asks, and a model", model: "big",
			wire: able(`{}`) + `> {"id":2,"method":"session/new"}` + "\n" +
				`< {"id":2,"result":{"sessionId":"s1","modes":{"currentModeId":"yolo","availableModes":[{"id":"yolo"},{"id":"default"}]},"models":{"currentModelId":"small"}}}` + "\n" +
				`> {"id":3,"method":"session/set_mode"}` + "\n" + `< {"id":3,"result":{}}` + "\n" +
				`> {"id":4,"method":"session/set_model"}` + "\n" + `< {"id":4,"result":{}}` + "\n" +
				`> {"id":5,"method":"session/prompt"}` + "\n" + `< {"id":5,"result":{"stopReason":"end_turn"}}` + "\n",
			want: []string{"began s1"},
		},
		{
			name: "a model by an option", model: "big",
			wire: able(`{}`) + `> {"id":2,"method":"session/new"}` + "\n" +
				`< {"id":2,"result":{"sessionId":"s1","configOptions":[{"id":"m","category":"model"}]}}` + "\n" +
				`> {"id":3,"method":"session/set_config_option"}` + "\n" + `< {"id":3,"error":{"code":-32602,"message":"no such model"}}` + "\n",
			want: []string{"began s1"}, end: vendor.End{Failure: "the agent rejected the model big: no such model (code -32602)"},
		},
		{
			name: "a model that cannot be chosen", model: "big",
			wire: able(`{}`) + `> {"id":2,"method":"session/new"}` + "\n" + `< {"id":2,"result":{"sessionId":"s1"}}` + "\n",
			want: []string{"began s1"},
			end:  vendor.End{Failure: "the agent does not support choosing a model: remove the model setting, and choose the model in the agent's configuration"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tu := turn("x")
			tu.Model, tu.Resume = c.model, c.resume
			if c.resume {
				tu.Session = "s1"
			}
			n := vendortest.NewRecordingSink(t)
			end, err := acp.Driver{}.Run(t.Context(), tu, vendortest.ReplayText(t, c.wire), n)
			if end != c.end || err != nil {
				t.Errorf("ended %+v, %v", end, err)
			}
			n.Expect(c.want...)
		})
	}
}

// An ID that is not valid as a session ID is ignored.
func TestInvalidSessionID(t *testing.T) {
	for _, id := range []string{"", "a\nb", strings.Repeat("x", 513)} {
		_, err := acp.Driver{}.Run(t.Context(), turn("x"), vendortest.ReplayText(t, hello+
			`> {"id":2,"method":"session/new"}`+"\n"+fmt.Sprintf(`< {"id":2,"result":{"sessionId":%q}}`, id)+"\n"), vendortest.NewRecordingSink(t))
		if err == nil {
			t.Errorf("the id %.20q was taken", id)
		}
	}
}

func TestLongLine(t *testing.T) {
	long := strings.Repeat("x", 20<<20)
	end, err := acp.Driver{}.Run(t.Context(), turn("x"), vendortest.ReplayText(t, fresh+messageChunk(long)+through), vendortest.NewRecordingSink(t))
	if err != nil || end.Text != long {
		t.Errorf("a text of %d bytes, %v", len(end.Text), err)
	}
}

func FuzzWire(f *testing.F) {
	var output strings.Builder
	for line := range strings.Lines(fresh + messageChunk("x") + begins(`"toolCallId":"c","kind":"edit","content":[{"type":"diff","path":"/a","newText":"x"}]`) + through) {
		if s, ok := strings.CutPrefix(line, "< "); ok {
			output.WriteString(s)
		}
	}
	f.Add(output.String())
	f.Fuzz(func(t *testing.T, output string) {
		_, _ = acp.Driver{}.Run(t.Context(), turn("x"), vendortest.Output(output), vendortest.NewRecordingSink(t))
	})
}
