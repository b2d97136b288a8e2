package inbox

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/saverule"
	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/internal/term/edit"
	"github.com/holdfast-dev/holdfast/internal/term/live"
	"github.com/holdfast-dev/holdfast/policy"
)

// user is a user in front of an inbox that has the focus.
type user struct {
	t             *testing.T
	inbox         *Inbox
	project       string
	width, height int
}

func newUser(t *testing.T, list ...approval.Request) *user {
	dir := t.TempDir()
	u := &user{t: t, inbox: New(newProgram(dir), saveTarget(dir)), project: saveTarget(dir).Folder, width: 80, height: 40}
	if err := os.MkdirAll(u.project, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.inbox.Close)
	u.inbox.Focus(true)
	u.sees(list...)
	return u
}

func newProgram(dir string) *command.Program {
	p := &command.Program{Env: []string{"HOLDFAST_HOME=" + filepath.Join(dir, "home"), "USER=ann"}}
	p.SetDefaults()
	return p
}

func saveTarget(dir string) saverule.Target {
	return saverule.Target{Folder: filepath.Join(dir, "project")}
}

func (u *user) sees(list ...approval.Request) {
	var open []conversation.Question
	for _, q := range list {
		open = append(open, conversation.Question{Request: q})
	}
	u.inbox.Set(open)
	u.view()
}

func (u *user) view() string {
	lines, _ := u.look()
	return strings.Join(lines, "\n")
}

func (u *user) look() ([]string, *live.Position) { return u.inbox.View(u.width, u.height, time.Now()) }

// key returns the key of a name, or of a character.
func key(name string) edit.Key {
	switch name {
	case "enter", "esc", "tab", "left", "right", "up", "down", "pgup", "pgdown", "home", "end", "backspace":
		return edit.Key{Name: name}
	case "space":
		return edit.Key{Name: name, Text: " ", Code: ' '}
	}
	return edit.Key{Code: []rune(name)[0], Text: name}
}

// presses presses keys. "=text" types a text in a line. It waits before each key, as a reader does.
func (u *user) presses(keys ...string) (last edit.Result) {
	for _, name := range keys {
		u.view()
		time.Sleep(guard)
		if text, ok := strings.CutPrefix(name, "="); ok {
			for _, r := range text {
				last = u.inbox.Press(key(string(r)))
			}
			continue
		}
		last = u.inbox.Press(key(name))
	}
	u.view()
	return last
}

// answers returns the answers that were given, and checks that they fit their requests.
func (u *user) answers(list ...approval.Request) (given []Answer) {
	for {
		select {
		case a := <-u.inbox.Answers():
			for _, q := range list {
				if err := q.Check(a.Answer); q.ID == a.ID && (err != nil || a.Digest != q.Digest) {
					u.t.Errorf("%+v does not fit %s: %v", a, q.ID, err)
				}
			}
			given = append(given, a)
		default:
			return given
		}
	}
}

func bash(id, line string) approval.Request {
	q := approval.Request{
		ID: id, Tool: "Bash", Cwd: "/home/ann/shop", Mode: policy.ModeDefault, Digest: "digest of " + id,
		ReasonText: "rule Bash(git push:*) asks", Rule: &policy.Origin{File: "/home/ann/shop/.claude/settings.json", Line: 12},
		Sandbox:  "kernel: files (writes to shop), network none, 15 protected names, 9 hidden",
		Requests: []policy.Request{{Tool: "Bash", Operation: policy.OpCommand, Resource: line, Cwd: "/home/ann/shop", Confined: true}},
		Scopes:   []approval.Scope{{Text: "exactly this command in /home/ann/shop"}, {Rule: "Bash(git push:*)", Text: "every command that begins with \"git push\""}},
	}
	return q
}

func outside() approval.Request {
	q := bash("outside", "docker ps")
	q.Requests[0].Confined, q.Requests[0].Unsandboxed, q.Scopes = false, true, nil
	return q
}

func opening() approval.Request {
	q := bash("opening", "")
	q.Requests = []policy.Request{{
		Tool: "Bash", Operation: policy.OpWrite, Resource: "/home/ann/.tool", Base: "absent", Confined: true,
		Input: json.RawMessage(`{"command": "make install-hooks", "refused": "write to /home/ann/.tool was refused"}`),
	}}
	q.Scopes = []approval.Scope{{Text: "write below /home/ann/.tool"}}
	return q
}

func person(id, tool, input string) approval.Request {
	return approval.Request{ID: id, Tool: tool, Digest: id, Requests: []policy.Request{{Tool: tool, Resource: tool, Person: true, Input: json.RawMessage(input)}}}
}

func planned() approval.Request {
	return person("plan", forms.PlanTool, `{"plan": "# Make it faster\n\n1. measure **first**\n2. change it\n"}`)
}

func choices() approval.Request {
	return person("choices", forms.AskTool, `{"questions": [
		{"question": "Which store?", "header": "Store", "options": [{"label": "SQLite", "description": "A file"}, {"label": "Postgres", "description": "A server"}]},
		{"question": "Which days?", "header": "Days", "multiSelect": true, "options": [{"label": "Monday", "description": ""}, {"label": "Friday", "description": ""}]}]}`)
}

func form() approval.Request {
	q := person("form", "mcp__seats__book", `{"server": "seats", "message": "Who shall\u001b[2J sit?", "content": {}, "requestedSchema": {"type": "object", "required": ["name", "size"],
		"properties": {"name": {"type": "string", "title": "Name"}, "size": {"type": "integer"}}}}`)
	q.Requests[0].Form = true
	return q
}

// Every key of every kind of request leads to its answer, and to no other.
func TestAnswers(t *testing.T) {
	push := bash("push", "git push origin main")
	for name, tt := range map[string]struct {
		q    approval.Request
		keys []string
		want string // the answer as JSON, without its time and name; "" for none
	}{
		"once":                    {push, []string{"y"}, `{"decision":"allow"}`},
		"no":                      {push, []string{"n"}, `{"decision":"deny"}`},
		"stop":                    {push, []string{"s"}, `{"decision":"deny","stop":true}`},
		"why":                     {push, []string{"m", "=use a branch", "enter"}, `{"decision":"deny","message":"use a branch"}`},
		"why, changed":            {push, []string{"m", "=use x", "backspace", "=it", "enter"}, `{"decision":"deny","message":"use it"}`},
		"why, then not":           {push, []string{"m", "=use", "esc", "y"}, `{"decision":"allow"}`},
		"letters of the reason":   {push, []string{"m", "=y", "=n"}, ``},
		"session":                 {push, []string{"a", "1"}, `{"decision":"allow-session"}`},
		"session, a rule":         {push, []string{"a", "2"}, `{"decision":"allow-session","scope":"Bash(git push:*)"}`},
		"session, no such scope":  {push, []string{"a", "3", "0", "y", "n"}, ``},
		"session, back":           {push, []string{"a", "b", "n"}, `{"decision":"deny"}`},
		"session, esc":            {push, []string{"a", "esc", "n"}, `{"decision":"deny"}`},
		"session, an own rule":    {push, []string{"a", "e", "=Bash(git push origin:*)", "enter"}, `{"decision":"allow-session","scope":"Bash(git push origin:*)"}`},
		"session, a wrong rule":   {push, []string{"a", "e", "=Bash(rm:*)", "enter", "2"}, `{"decision":"allow-session","scope":"Bash(git push:*)"}`},
		"never":                   {push, []string{"d", "1"}, `{"decision":"deny-session"}`},
		"always here":             {push, []string{"p", "2"}, `{"decision":"allow-session","scope":"Bash(git push:*)","always":"local"}`},
		"always":                  {push, []string{"u", "2"}, `{"decision":"allow-session","scope":"Bash(git push:*)","always":"user"}`},
		"other keys":              {push, []string{"x", "Y", "1", "enter", "up", "tab", "esc", "space"}, ``},
		"outside, once":           {outside(), []string{"y"}, `{"decision":"allow"}`},
		"outside, not always":     {outside(), []string{"a", "p", "u", "d"}, ``},
		"open, session":           {opening(), []string{"a"}, `{"decision":"allow-session"}`},
		"plan":                    {planned(), []string{"y"}, `{"decision":"allow","input":"default"}`},
		"plan, edit":              {planned(), []string{"e"}, `{"decision":"allow","input":"acceptEdits"}`},
		"plan, no":                {planned(), []string{"n"}, `{"decision":"deny"}`},
		"plan, change":            {planned(), []string{"m", "=smaller", "enter"}, `{"decision":"deny","message":"smaller"}`},
		"plan, others":            {planned(), []string{"a", "p", "u", "d", "1"}, ``},
		"choices":                 {choices(), []string{"2", "1", "c", "y"}, `{"decision":"allow","input":{"Days":"Monday","Store":"Postgres"}}`},
		"choices, by keys":        {choices(), []string{"1", "1", "2", "1", "1", "c", "y"}, `{"decision":"allow","input":{"Days":["Friday","Monday"],"Store":"SQLite"}}`},
		"choices, a wrong key":    {choices(), []string{"1", "x", ",", "1", "c", "y"}, `{"decision":"allow","input":{"Days":"Monday","Store":"SQLite"}}`},
		"choices, several":        {choices(), []string{"1", "c", "=1, 2", "enter", "y"}, `{"decision":"allow","input":{"Days":["Monday","Friday"],"Store":"SQLite"}}`},
		"choices, own":            {choices(), []string{"o", "=a file", "enter", "2", "c", "y"}, `{"decision":"allow","input":{"Days":"Friday","Store":"a file"}}`},
		"choices, again":          {choices(), []string{"1", "1", "c", "b", "2", "2", "c", "y"}, `{"decision":"allow","input":{"Days":"Friday","Store":"Postgres"}}`},
		"choices, esc":            {choices(), []string{"1", "esc", "2", "2", "c", "y"}, `{"decision":"allow","input":{"Days":"Friday","Store":"Postgres"}}`},
		"choices, no":             {choices(), []string{"1", "n"}, `{"decision":"deny"}`},
		"choices, not yet sent":   {choices(), []string{"1", "1", "c"}, ``},
		"form":                    {form(), []string{"f", "=ann", "enter", "=3", "enter", "y"}, `{"decision":"allow","input":{"content":{"name":"ann","size":3}}}`},
		"form, a wrong value":     {form(), []string{"f", "=ann", "enter", "=many", "enter", "=3", "enter", "y"}, `{"decision":"allow","input":{"content":{"name":"ann","size":3}}}`},
		"form, esc":               {form(), []string{"f", "=ann", "enter", "esc", "n"}, `{"decision":"deny"}`},
		"form, no":                {form(), []string{"n"}, `{"decision":"deny"}`},
		"form, nothing to accept": {form(), []string{"y"}, ``},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := newUser(t, tt.q)
				u.presses(tt.keys...)
				given := u.answers(tt.q)
				got := ""
				for _, a := range given {
					got += answerText(t, a)
				}
				if got != tt.want {
					t.Errorf("got %s\nwant %s\n%s", got, tt.want, u.view())
				}
			})
		})
	}
}

// answerText returns what matters of an answer.
func answerText(t *testing.T, a Answer) string {
	if a.Actor != "ann" || a.Via != "terminal" || a.At.IsZero() || a.RequestID != a.ID {
		t.Errorf("%+v", a)
	}
	out := map[string]any{}
	raw, _ := json.Marshal(a.Answer)
	_ = json.Unmarshal(raw, &out)
	for _, name := range []string{"id", "by", "via", "at"} {
		delete(out, name)
	}
	if in, ok := out["input"].(map[string]any); ok {
		switch {
		case in["mode"] != nil:
			out["input"] = in["mode"]
		case in["answers"] != nil:
			short := map[string]any{}
			for q, v := range in["answers"].(map[string]any) {
				short[map[string]string{"Which store?": "Store", "Which days?": "Days"}[q]] = v
			}
			out["input"] = short
		}
	}
	type ordered struct {
		Decision any `json:"decision"`
		Scope    any `json:"scope,omitempty"`
		Always   any `json:"always,omitempty"`
		Message  any `json:"message,omitempty"`
		Stop     any `json:"stop,omitempty"`
		Input    any `json:"input,omitempty"`
	}
	text, _ := json.Marshal(ordered{out["decision"], out["scope"], out["always"], out["message"], out["stop"], out["input"]})
	return string(text)
}

// A rule that the user saves is in the settings before the answer is sent.
func TestSavedRule(t *testing.T) {
	q := bash("push", "git push origin main")
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t, q)
		u.presses("p", "2")
		text, err := os.ReadFile(filepath.Join(u.project, ".holdfast", "settings.local.json"))
		if err != nil || !strings.Contains(string(text), "Bash(git push:*)") {
			t.Errorf("%s: %v", text, err)
		}
		a := u.answers(q)
		if len(a) != 1 {
			t.Fatalf("%d answers", len(a))
		}
		if d := a[0]; d.Digest != q.Digest || d.Scope != "Bash(git push:*)" {
			t.Errorf("%+v", d)
		}
	})
}

// A key answers only what the user can have read: for half a second it goes to the input box.
func TestGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := bash("one", "touch one"), bash("two", "touch two")
		u := newUser(t, one, two)
		ignored := func(when, name string) {
			t.Helper()
			if r := u.inbox.Press(key(name)); r != edit.Ignored {
				t.Errorf("%s, %s is %v", when, name, r)
			}
			u.view()
			if a := u.answers(one, two); a != nil {
				t.Errorf("%s, %s answered: %+v", when, name, a)
			}
		}
		ignored("at once", "y")
		time.Sleep(guard - time.Millisecond)
		ignored("just before", "y")
		time.Sleep(time.Millisecond)
		u.inbox.Press(key("y"))
		if a := u.answers(one); len(a) != 1 || a[0].ID != "one" {
			t.Fatalf("%+v", a)
		}
		ignored("before the next is drawn", "y")
		u.view()
		ignored("a second key for the first", "y")
		time.Sleep(guard)
		u.inbox.Failed("one", errors.New("no daemon"))
		u.inbox.Press(key("left"))
		u.view()
		ignored("after a move", "y")
		time.Sleep(guard)
		u.inbox.Focus(false)
		ignored("without the focus", "y")
		time.Sleep(guard)
		u.inbox.Focus(true)
		ignored("not drawn yet", "y")
		u.view()
		ignored("after the focus came back", "y")
		time.Sleep(guard)
		if !strings.Contains(u.view(), "not answered: no daemon") {
			t.Errorf("no error in\n%s", u.view())
		}
		u.inbox.Press(key("n"))
		if a := u.answers(one); len(a) != 1 || a[0].ID != "one" {
			t.Errorf("%+v", a)
		}
	})
}

// The next of several questions of one request has a guard of its own.
func TestGuardBetweenChoices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t, choices())
		u.presses("1")
		if r := u.inbox.Press(key("1")); r != edit.Handled || strings.Contains(u.view(), "› Monday") {
			t.Errorf("the key counted for the next question, or is text: %v", r)
		}
		if r := u.presses("1"); r != edit.Handled || !strings.Contains(u.view(), "› Monday") {
			t.Errorf("the key does not count later: %v", r)
		}
	})
}

// A question that is longer than the view takes an answer only after its end was shown.
func TestLongQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := bash("long", strings.Repeat("echo a line of a long script\n", 60)+"rm -rf /")
		u := newUser(t, q)
		u.height = 20
		if v := u.view(); strings.Contains(v, "rm -rf") || !strings.Contains(v, "lines below · read to the end to answer") || strings.Contains(v, "allow once") {
			t.Errorf("the view is\n%s", v)
		}
		for _, k := range []string{"y", "a", "down", "y", "pgdown", "y", "home", "y"} {
			if u.presses(k); u.answers(q) != nil {
				t.Fatalf("%s answered", k)
			}
		}
		u.presses("space", "space", "space", "space", "space", "space", "space")
		if v := u.view(); !strings.Contains(v, "rm -rf") || !strings.Contains(v, "allow once") || !strings.Contains(v, " of ") {
			t.Errorf("the view is\n%s", v)
		}
		u.presses("home")
		if n := strings.Count(u.view(), "\n") + 1; n > 20 {
			t.Errorf("%d lines", n)
		}
		u.presses("y")
		if a := u.answers(q); len(a) != 1 {
			t.Errorf("%+v", a)
		}
	})
}

// A question that is answered elsewhere disappears, also while the user writes.
func TestAnsweredElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two, three := bash("one", "touch one"), bash("two", "touch two"), bash("three", "touch three")
		u := newUser(t, one, two, three)
		u.presses("tab", "m", "=because")
		if _, cursor := u.look(); !u.inbox.Editing() || cursor == nil {
			t.Errorf("no line: %v", cursor)
		}
		u.inbox.Resolved(approval.Answer{RequestID: "two", Decision: approval.Allow, Actor: "bob", Via: "web"})
		u.sees(one, three)
		if v := u.view(); !strings.Contains(v, "· Bash touch two answered by bob (web): allow") || !strings.Contains(v, "touch three") || u.inbox.Editing() {
			t.Errorf("the view is\n%s", v)
		}
		u.presses("esc")
		if v := u.view(); strings.Contains(v, "bob") {
			t.Errorf("the notice stays:\n%s", v)
		}
		u.sees(one)
		if v := u.view(); !strings.Contains(v, "touch three is withdrawn") || !strings.Contains(v, "exact    touch one") {
			t.Errorf("the view is\n%s", v)
		}
		time.Sleep(noticeTime)
		if v := u.view(); strings.Contains(v, "withdrawn") {
			t.Errorf("the notice stays:\n%s", v)
		}
		u.presses("y")
		if v := u.view(); v != "sending the answer…" || u.inbox.Len() != 0 || u.inbox.Focused() {
			t.Errorf("the view is\n%s", v)
		}
		u.inbox.Resolved(approval.Answer{RequestID: "one", Decision: approval.Allow, Actor: "ann"})
		u.sees()
		if v := u.view(); v != "" {
			t.Errorf("the view is\n%s", v)
		}
		u.inbox.Failed("one", errors.New("answered by bob\x1b[2J"))
		if v := u.view(); v != `· not answered: answered by bob\x1b[2J` {
			t.Errorf("the view is\n%s", v)
		}
	})
}

// Another answer than the user's wins.
func TestLostRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t, bash("one", "touch one"))
		u.presses("y")
		u.inbox.Resolved(approval.Answer{RequestID: "one", Decision: approval.Deny, Actor: "bob", Message: "not\nnow"})
		u.sees()
		if v := u.view(); v != "· Bash touch one answered by bob: deny, not; now" {
			t.Errorf("the view is\n%s", v)
		}
	})
}

func TestFocus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUser(t)
		if u.inbox.Focused() || u.view() != "" {
			t.Error("it has the focus without a question")
		}
		u.inbox.Focus(false)
		u.sees(bash("one", "touch one"))
		if v := u.view(); v != "1 question waits · ctrl-g · Bash touch one" || u.inbox.Press(key("y")) != edit.Ignored {
			t.Errorf("the view is %q", v)
		}
		u.sees(bash("one", "touch one"), bash("two", "touch two"))
		u.width = 40
		if v := u.view(); v != "2 questions wait · ctrl-g · Bash touch …" {
			t.Errorf("the view is %q", v)
		}
		u.inbox.Focus(true)
		if v := u.view(); !strings.HasPrefix(v, "permission Bash             1 of 2 · ←/→\n") {
			t.Errorf("the view is\n%s", v)
		}
		if u.inbox.Press(edit.Key{Code: 'c', Ctrl: true}) != edit.Ignored || u.inbox.Press(edit.Key{Name: "tab", Shift: true}) != edit.Ignored {
			t.Error("it takes the keys of the program")
		}
	})
}

// Pasted text is never an answer.
func TestPaste(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := bash("one", "touch one")
		u := newUser(t, q)
		time.Sleep(guard)
		if u.inbox.Paste("y") != edit.Ignored || u.answers(q) != nil {
			t.Error("it answered")
		}
		u.presses("m")
		u.inbox.Paste("because\nof it")
		u.presses("enter")
		if a := u.answers(q); len(a) != 1 || a[0].Message != "because\nof it" {
			t.Errorf("%+v", a)
		}
	})
}

// Space never begins a message: it scrolls, or does nothing.
func TestSpace(t *testing.T) {
	u := newUser(t, bash("push", "git push"))
	for _, wait := range []time.Duration{0, guard} {
		time.Sleep(wait) // the guard is in real time
		if r := u.inbox.Press(key("space")); r != edit.Handled {
			t.Errorf("after %s: %v", wait, r)
		}
	}
}

// Enter alone is not an answer, and says so.
func TestEnterSaysWhatToPress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := choices()
		u := newUser(t, q)
		u.presses("enter")
		if got := u.view(); !strings.Contains(got, "press one of the keys below") || u.answers(q) != nil {
			t.Errorf("the view is\n%s", got)
		}
	})
}
