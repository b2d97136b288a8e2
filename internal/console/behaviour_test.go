package console_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

func TestInbox(t *testing.T) {
	needBrowser(t)
	browse(t, "inbox.mjs", serve(t, newFake(t)))
}

func TestUserInput(t *testing.T) {
	needBrowser(t)
	browse(t, "userinput.mjs", serve(t, newFake(t)))
}

func TestSession(t *testing.T) {
	needBrowser(t)
	f := newFake(t)
	f.grants["build"] = []doc{{"id": "g1", "effect": "allow", "tool": "Edit", "scope": "Edit(//src/**)", "by": "bo", "at": time.Now().UTC()}}
	browse(t, "session.mjs", serve(t, f))
}

func TestWorkspaces(t *testing.T) {
	needBrowser(t)
	browse(t, "workspaces.mjs", serve(t, newFake(t)))
}

// hostile is text with all kinds of attacks.
const hostile = "<script>owned=1</script><img src=x onerror=owned=1><iframe src=//evil.example></iframe><svg onload=owned=1>" +
	"\x1b[2J\x1b]0;title\x07\x1b]8;;https://evil.example\x07link\x1b]8;;\x07\x1b[31mred\x1b[0m\x1b[8mhidden\x1b[0m \u202egnp.exe\u202c z\u200bw\u200d\ufeff \U000e0041\U000e0042 \x00\x08\x7f\u0085\u2028" +
	" [click](javascript:owned=1) [ok](https://evil.example/a?b) ![i](https://evil.example/x.png) [d](data:text/html,x) <a href=\"javascript:owned=1\" onclick=\"owned=1\">x</a> {{constructor.constructor('owned=1')()}} ${owned=1}"

func TestHostile(t *testing.T) {
	needBrowser(t)
	f := newFake(t)
	item := func(role string, parts ...doc) doc { return doc{"item": doc{"role": role, "id": role, "parts": parts}} }
	input := doc{"command": hostile, "description": hostile, "file_path": hostile}
	ask := doc{
		"id": "evil", "session_id": "evil", "use_id": "c1", "tool": hostile, "why": hostile, "sandbox": hostile, "agent": hostile,
		"rule": doc{"rule": hostile, "file": hostile, "line": 3}, "scopes": []doc{{"rule": hostile, "text": hostile}}, "digest": "d",
		"requests": []doc{{"tool": "Bash", "operation": "command.execute", "resource": hostile, "cwd": hostile, "input": input, "shown": "@@ -1 +1 @@\n-" + hostile + "\n+x" + hostile}},
	}
	var list []event
	for i, r := range []struct {
		kind    string
		payload doc
	}{
		{"session.opened", doc{"cwd": hostile, "model": hostile, "user": hostile, "base": doc{"parent": hostile, "seq": 3}}},
		{"item", item("user", doc{"type": "text", "text": hostile})},
		{"item", item("assistant", doc{"type": "thinking", "text": hostile}, doc{"type": "text", "text": "# " + hostile + "\n\n- " + hostile + "\n\n> " + hostile + "\n\n```" + hostile + "\n" + hostile + "\n```\n| " + hostile + " |"},
			doc{"type": "tool_use", "id": "c0", "name": "Bash", "input": input}, doc{"type": "tool_use", "id": "c2", "name": "Edit", "input": doc{"file_path": hostile, "old_string": hostile, "new_string": "y" + hostile}}, doc{"type": hostile})},
		{"decision", doc{"use_id": "c0", "tool": "Bash", "effect": "allow", "by": hostile, "reason": hostile, "rule": doc{"rule": hostile}, "said": []doc{{"policy": hostile, "effect": "allow", "reason": hostile}}, "touches": []doc{{"operation": hostile, "resource": hostile}}}},
		{"tool.finished", doc{"use_id": "c0", "tool": "Bash", "ms": 3, "exit_code": 1, "changes": []doc{{"path": hostile}}}},
		{"item", item("tool", doc{"type": "tool_result", "use_id": "c0", "content": []doc{{"type": "text", "text": hostile}}, "is_error": true})},
		{"hook.ran", doc{"event": hostile, "hooks": []doc{{"name": hostile, "error": hostile, "effect": hostile}}}},
		{"policy.changed", doc{"by": hostile, "patch": doc{"tool": hostile, "mode": hostile, "allow": []string{hostile}}}},
		{"rewrite", doc{"reason": hostile, "by": hostile, "notes": []string{hostile}, "messages": 2}},
		{"meta.changed", doc{"title": hostile, "by": hostile}},
		{"run.event", doc{"event": "failed", "code": hostile, "message": hostile, "by": hostile}},
		{"turn.closed", doc{"turn": "1", "reason": hostile, "error": hostile}},
		{hostile, doc{"x": hostile}},
		{"approval.asked", ask},
	} {
		b, err := json.Marshal(r.payload)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, event{Seq: int64(i + 1), ID: fmt.Sprint("e", i), Time: "2026-05-01T09:00:00Z", Kind: r.kind, Payload: b})
	}
	f.add("evil", doc{"title": hostile, "cwd": hostile, "model": hostile, "tag": hostile, "git_branch": hostile}, list)
	browse(t, "hostile.mjs", serve(t, f))
}

func TestLongSession(t *testing.T) {
	needBrowser(t)
	f := newFake(t)
	list := []event{{Seq: 1, ID: "e1", Time: "2026-05-01T09:00:00Z", Kind: "session.opened", Payload: json.RawMessage(`{"cwd":"/src","model":"demo"}`)}}
	add := func(kind string, payload doc) {
		b, _ := json.Marshal(payload)
		n := len(list) + 1
		list = append(list, event{Seq: int64(n), ID: fmt.Sprint("e", n), Time: "2026-05-01T09:00:00Z", Kind: kind, Payload: b})
	}
	for i := 1; len(list) < 10_000; i++ {
		use := fmt.Sprint("u", i)
		text := fmt.Sprint("answer ", i)
		if i%7 == 0 {
			text += "\n\n- with\n- several\n- lines, and a `word`"
		}
		add("item", doc{"item": doc{"role": "assistant", "id": fmt.Sprint("a", i), "parts": []doc{{"type": "text", "text": text}, {"type": "tool_use", "id": use, "name": "Bash", "input": doc{"command": fmt.Sprint("echo ", i)}}}}})
		add("tool.finished", doc{"use_id": use, "tool": "Bash", "ms": i % 900})
		add("item", doc{"item": doc{"role": "tool", "id": fmt.Sprint("r", i), "parts": []doc{{"type": "tool_result", "use_id": use, "content": []doc{{"type": "text", "text": fmt.Sprint("line\n", i)}}}}}})
	}
	f.add("long", doc{"title": "A long one"}, list)
	browse(t, "long_session.mjs", serve(t, f))
}

// The page shows a result that has only structured content, and a turn that ended because of the
// budget.
func TestStructuredResultAndBudget(t *testing.T) {
	needBrowser(t)
	f := newFake(t)
	var list []event
	for i, r := range []struct {
		kind    string
		payload doc
	}{
		{"session.opened", doc{"cwd": "/src", "model": "demo"}},
		{"item", doc{"item": doc{"role": "assistant", "id": "a", "parts": []doc{{"type": "tool_use", "id": "u1", "name": "mcp__weather__now", "input": doc{"city": "Zürich"}}}}}},
		{"tool.finished", doc{"use_id": "u1", "tool": "mcp__weather__now", "ms": 3}},
		{"item", doc{"item": doc{"role": "tool", "id": "r", "parts": []doc{{"type": "tool_result", "use_id": "u1", "content": []doc{{"type": "structured", "value": doc{"degrees": 21, "place": "Zürich"}}}}}}}},
		{"turn.closed", doc{"turn": "turn-1", "reason": "budget", "cost_usd": 2}},
	} {
		b, err := json.Marshal(r.payload)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, event{Seq: int64(i + 1), ID: fmt.Sprint("e", i), Time: "2026-05-01T09:00:00Z", Kind: r.kind, Payload: b})
	}
	f.add("weather", doc{"title": "Weather"}, list)
	browse(t, "structured.mjs", serve(t, f))
}
