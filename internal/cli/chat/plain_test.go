package chat

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/docgen"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// typist is a user of the plain form. The daemon and the agent are real; the model is scripted.
type typist struct {
	t     *testing.T
	x     *user
	lines chan string
	sigs  chan os.Signal
	ended chan error

	mu   sync.Mutex
	all  strings.Builder
	seen int // bytes of all that were waited for
	more chan struct{}
}

func (p *typist) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all.Write(b)
	select {
	case p.more <- struct{}{}:
	default:
	}
	return len(b), nil
}

// typeIn opens a conversation in the plain form. The user reads each question for a second.
func typeIn(t *testing.T, play string, width int, change func(*user, *plain)) *typist {
	t.Helper()
	x := talk(t, play, func(s *Start) { s.Screen.Plain = true })
	p := &typist{t: t, x: x, lines: make(chan string), sigs: make(chan os.Signal), ended: make(chan error, 1), more: make(chan struct{}, 1)}
	x.u.now = func() time.Time { return time.Now().Add(-time.Second) }
	l := &plain{u: x.u, out: p, columns: func() int { return width }, echo: true}
	if change != nil {
		change(x, l)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); p.ended <- l.loop(ctx, p.lines, p.sigs) }()
	t.Cleanup(func() { cancel(); <-done })
	return p
}

// waits waits for a text that was not there before, and returns what was printed until then.
func (p *typist) waits(text string) string {
	p.t.Helper()
	for {
		p.mu.Lock()
		fresh := p.all.String()[p.seen:]
		if i := strings.Index(fresh, text); i >= 0 {
			p.seen += i + len(text)
			p.mu.Unlock()
			return fresh[:i+len(text)]
		}
		p.mu.Unlock()
		select {
		case <-p.more:
		case <-time.After(time.Minute):
			p.t.Fatalf("%q is not printed; the output is\n%s", text, p.text())
		}
	}
}

func (p *typist) types(line string) {
	_, _ = p.Write([]byte(line + "\n")) // the echo of the terminal
	p.lines <- line + "\n"
}

func (p *typist) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all.String()
}

// leaves ends the input and waits for the end of the conversation.
func (p *typist) leaves() {
	p.t.Helper()
	close(p.lines)
	if err := <-p.ended; err != nil {
		p.t.Error(err)
	}
	p.ended <- nil
}

const plainPlay = `
name: play
steps:
  - when: {user: "go"}
    thinking: "First the test.\nThen the rest."
    text: "# Plan\n\n- I **run** the test."
    tool_uses:
      - {tool: Write, input: {file_path: numbers.txt, content: "one\ntwo\n"}}
      - {tool: Bash, input: {command: "printf '1\n2\n3\n4\n5\n6\n7\n'"}}
  - when: {tool: Bash}
    text: Which store?
    tool_uses:
      - tool: AskUserQuestion
        input:
          questions:
            - question: Which store?
              header: Store
              options: [{label: SQLite, description: a file}, {label: Postgres, description: a server}]
            - question: Which days?
              header: Days
              multiSelect: true
              options: [{label: Monday, description: ""}, {label: Friday, description: ""}]
  - when: {tool: AskUserQuestion}
    text: "You chose."
  - when: {user: "plan it"}
    tool_uses:
      - {tool: ExitPlanMode, input: {plan: "1. measure\n2. change it"}}
  - when: {tool: ExitPlanMode}
    text: "The plan is set."
  - when: {any: true}
    text: "Fine: {{last_result}}"
`

// The golden file is a whole conversation in the plain form: the user types after each text that is
// waited for.
func TestPlainGolden(t *testing.T) {
	for _, width := range []int{80, 40} {
		p := typeIn(t, plainPlay, width, nil)
		for _, s := range [][2]string{
			{"your turn", "go"},
			{"type a number from", "9"},
			{"type a number from", "1"},
			{"2  Postgres", ""},
			{"type a number from", "2"},
			{"2  Friday", ""},
			{"type a number from", "3"},
			{"type a line", "1 2"},
			{"type a number from", "1"},
			{"your turn", "/mode plan"},
			{"the mode is plan", "/status"},
			{"sandbox", "plan it"},
			{"type a number from", "4"},
			{"type a line", "use less"},
			{"your turn", "/transcript"},
			{"use less", "/nonsense"},
			{"there is no command", "/rewind"},
			{"type a number, ", "go"},
			{"type a number, ", "1"},
			{"type a number, ", "2"},
			{"this text came back", "hello"},
			{"your turn", "/clear"},
			{"Note: a new session", "/resume"},
			{"type a number, ", ""},
		} {
			p.waits(s[0])
			if s[1] != "" || s[0] == "type a number, " {
				p.types(s[1])
			}
		}
		p.waits("nothing chosen")
		p.leaves()
		if width == 80 {
			checkGolden(t, "plain.txt", p)
		}
		_, text, _ := strings.Cut(p.text(), "your turn") // the banner was printed before
		for l := range strings.SplitSeq(text, "\n") {
			if term.Width(l) > width {
				t.Errorf("%q is wider than %d", l, width)
			}
		}
	}
}

// A message that is typed while the agent works is said to be queued, and printed when the agent reads
// it. Only then it is printed again.
func TestPlainQueue(t *testing.T) {
	p := typeIn(t, waitingPlay, 80, nil)
	p.waits("your turn")
	p.types("go")
	p.waits("Question:")
	p.types("also this")
	p.waits("Queued until the next step of the agent: also this")
	p.types("/queue")
	p.waits("1  also this")
	p.types("")
	p.waits("nothing chosen")
	p.types("1")
	if s := p.waits("your turn"); !strings.Contains(s, "User:\nalso this\n") {
		t.Errorf("the queued message is not printed:\n%s", s)
	}
	p.leaves()
	if strings.Contains(p.text(), "User:\ngo\n") {
		t.Error("a typed message is printed again")
	}
}

const waitingPlay = `
steps:
  - when: {tool: Write}
    text: Done.
  - when: {user: go}
    tool_uses: [{tool: Write, input: {file_path: a.txt, content: a}}]
  - when: {any: true}
    text: Fine.
`

// A number that was typed before the question could be read is no answer.
func TestPlainGuard(t *testing.T) {
	p := typeIn(t, waitingPlay, 80, func(x *user, _ *plain) { x.u.now = func() time.Time { return time.Now().Add(time.Hour) } })
	p.waits("your turn")
	p.types("go")
	p.waits("type a number")
	p.types("1")
	p.waits("type the number again")
	p.leaves() // the question stays open
	if !strings.Contains(p.text(), "continues this session") && !strings.Contains(p.text(), "interrupted") {
		t.Error("it does not say how to come back")
	}
}

// Ctrl-C goes back in a question, interrupts the agent and, pressed twice, leaves.
func TestPlainInterrupt(t *testing.T) {
	p := typeIn(t, waitingPlay, 80, func(x *user, _ *plain) { x.u.now = func() time.Time { return time.Unix(1e9, 0) } })
	p.waits("your turn")
	p.types("go")
	p.waits("type a number")
	p.types("7")
	p.waits("type a line: ")
	p.sigs <- os.Interrupt
	p.waits("type a number")
	p.sigs <- os.Interrupt
	p.waits("interrupting")
	p.waits("your turn")
	p.sigs <- os.Interrupt
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
	p.ended <- nil
}

// At the end of the input, messages are sent first. Without a daemon, the agent finishes its turn.
func TestPlainEndOfInput(t *testing.T) {
	p := typeIn(t, "steps: [{when: {any: true}, text: Hello., delay: {before: 300ms}}]", 80, func(x *user, _ *plain) {})
	p.types("one \\")
	p.types("two")
	p.leaves()
	if !strings.Contains(p.text(), "Hello.") {
		t.Errorf("the turn has not ended:\n%s", p.text())
	}
	if strings.Contains(p.text(), "User:") {
		t.Errorf("the message is not sent as it was typed:\n%s", p.text())
	}
}

// The fields of a form are asked one after the other; each line is printed once.
func TestPlainForm(t *testing.T) {
	q := approval.Request{ID: "form", Tool: "mcp__seats__book", Digest: "d", Requests: []policy.Request{{
		Tool: "mcp__seats__book", Person: true, Form: true, Input: json.RawMessage(`{"server": "seats", "message": "Who shall sit?", "content": {}, "requestedSchema": {"type": "object", "required": ["name", "size"],
		"properties": {"name": {"type": "string", "title": "Name"}, "size": {"type": "integer"}}}}`),
	}}}
	p := typeIn(t, waitingPlay, 80, nil)
	p.waits("your turn")
	p.x.u.done <- func() {
		p.x.u.inbox.Set([]conversation.Question{{Request: q}, {Request: commandQuestion("other")}})
	}
	for _, s := range [][2]string{{"type a number", "1"}, {"type a line: ", "ann"}, {"type a line: ", "many"}, {"want a number", ""}, {"type a line: ", "3"}, {"size  3", ""}, {"type a number", "5"}, {"Question 2 of 2", "1"}} {
		p.waits(s[0])
		if s[1] != "" {
			p.types(s[1])
		}
	}
	if n := strings.Count(p.text(), "Who shall sit?"); n != 1 {
		t.Errorf("the form is printed %d times:\n%s", n, p.text())
	}
}

func commandQuestion(id string) approval.Request {
	return approval.Request{ID: id, Tool: "Bash", Digest: id, Requests: []policy.Request{{Tool: "Bash", Operation: policy.OpCommand, Resource: "make"}}}
}

var changing = [][2]string{
	{` by [a-z_][\w-]*`, " by USER"},
	{`[0-9a-f]{8}-[0-9a-f-]{27}`, "SESSION"},
	{`-r [0-9a-f]{8}`, "-r SESSION"},
	{`Turn: .*`, "Turn: …"},
	{`/tmp/[^\s]*`, "/TMP"},
	{`  \d\.\d s\n`, "\n"},    // of a call that takes long
	{`the agent works\n`, ""}, // unless the question comes at once
	{`\d+ m?s\b`, "1 s"},
	{`Note: the conversation was rewound.*\n`, ""}, // its place depends on whether the event or the answer comes first
}

// checkGolden compares what was printed with a golden file, without what differs between runs.
func checkGolden(t *testing.T, name string, p *typist) {
	t.Helper()
	got := p.text()
	if i := strings.IndexAny(got, "\x1b\r\a\b"); i >= 0 {
		t.Errorf("%s: control characters: %q", name, got[i:])
	}
	for _, c := range changing {
		got = regexp.MustCompile(c[0]).ReplaceAllString(got, c[1])
	}
	docgen.Golden(t, filepath.Join("testdata", name), got)
}

// What must be known before the first message is asked with numbers, and ends with the input.
func TestPlainInterview(t *testing.T) {
	for _, answer := range []string{"1", ""} {
		p := typeIn(t, waitingPlay, 80, nil)
		p.waits("your turn")
		got := make(chan bool, 1)
		p.x.u.done <- func() {
			yes := false
			p.x.u.inbox.Interview("a server", func(a *question.Asker) { yes, _, _ = a.YesNoOrDefer(context.Background(), "start it?") }, func() { got <- yes })
		}
		p.waits("start it?\n1  yes\n2  no\n3  later\n")
		if answer != "" {
			time.Sleep(600 * time.Millisecond) // the guard is in real time
			p.types(answer)
		}
		p.leaves()
		if yes := <-got; yes != (answer == "1") {
			t.Errorf("%q means %v", answer, yes)
		}
	}
}

// Sub-agents are printed when they start and when they end.
func TestPlainAgents(t *testing.T) {
	p := typeIn(t, `
steps:
  - when: {tool: Agent}
    text: All is done.
  - when: {user: look around}
    text: I looked.
  - when: {any: true}
    tool_uses: [{tool: Agent, input: {description: look, prompt: look around, subagent_type: general-purpose}}]
`, 80, nil)
	p.waits("your turn")
	p.types("go")
	for range 10 {
		if s := p.waits("\n"); strings.Contains(s, "type a number") {
			p.types("1")
		} else if strings.Contains(s, "All is done.") {
			break
		}
	}
	p.waits("your turn")
	for _, want := range []string{" has started\n", " is done\n"} {
		if !strings.Contains(p.text(), want) {
			t.Errorf("%q is missing:\n%s", want, p.text())
		}
	}
}
