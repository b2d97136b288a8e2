// Package claudetest is a fake Claude Code for tests. It speaks the same protocol without a model and follows the
// last line of its input.
//
//	say TEXT            answers with a text, in two deltas
//	run CMD             requests to run a command with Bash, runs it, and answers
//	read PATH           the same with Read
//	both CMD | CMD      two uses in one message, requested at once
//	unasked CMD         runs a command without asking
//	sub CMD             a sub-agent requests to run a command
//	die                 exits with code 3 before any output
//	die-on-resume       the same, but only on resume
//	hang-on-resume      never starts on resume
//	die-in CMD          exits while an allowed command runs
//	die-saying TEXT     exits in the middle of a text
//	refuse TEXT         ends the turn with an error text
//	noise               lines that are not events, and unknown events
//	blocks A | B        texts of one message, in blocks
//	big N               a text of N bytes in one line
//	eat N               uses N MB of memory
//	wait                answers "working", and then waits to be killed
//
// It stores a session in a file as Claude Code does, rejects an id that is in use, and reports an
// error if the session to resume is missing. It logs its arguments and input in calls.jsonl in its
// home.
//
// This is the shortest use, in the TestMain of a package whose test program starts itself again:
//
//	if claudetest.IsStandIn() {
//		os.Exit(claudetest.Main())
//	}
package claudetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Variable is the entry of the environment that makes a program act as the fake, if it calls
// [Main].
const Variable = "HOLDFAST_TEST_CLAUDE=1"

// IsStandIn reports whether this process should act as the fake.
func IsStandIn() bool { return os.Getenv("HOLDFAST_TEST_CLAUDE") == "1" }

// Call is one start, as logged in calls.jsonl.
type Call struct {
	Args []string `json:"args"`
	Text string   `json:"text"` // all texts in the input
}

// Calls reads the starts that were logged in a home folder.
func Calls(home string) ([]Call, error) {
	b, err := os.ReadFile(filepath.Join(home, "calls.jsonl"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	var calls []Call
	for line := range bytes.Lines(b) {
		var c Call
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, err
		}
		calls = append(calls, c)
	}
	return calls, err
}

type program struct {
	out     *json.Encoder
	mu      sync.Mutex // guards out
	answers map[string]chan json.RawMessage
	session string
	resumed bool
	file    string
	n       int
}

// Main runs the fake on the process's standard streams and returns the exit code.
func Main() int {
	p := &program{out: json.NewEncoder(os.Stdout), answers: map[string]chan json.RawMessage{}}
	args := os.Args[1:]
	after := func(flag string) string {
		for i, a := range args {
			if a == flag && i+1 < len(args) {
				return args[i+1]
			}
		}
		return ""
	}
	resume, fresh := after("--resume"), after("--session-id")
	if resume != "" && fresh != "" {
		fmt.Fprintln(os.Stderr, "Error: --session-id can only be used with --continue or --resume if --fork-session is also specified.")
		return 1
	}
	p.session, p.resumed = resume+fresh, resume != ""
	cwd, _ := os.Getwd()
	folder := filepath.Join(os.Getenv("HOME"), ".claude", "projects", regexp.MustCompile(`[^a-zA-Z0-9]`).ReplaceAllString(cwd, "-"))
	if dir := os.Getenv("HOLDFAST_TEST_CLAUDE_CWD"); dir != "" { // the path that the folder would have in a container
		folder = filepath.Join(os.Getenv("HOME"), ".claude", "projects", regexp.MustCompile(`[^a-zA-Z0-9]`).ReplaceAllString(dir, "-"))
	}
	p.file = filepath.Join(folder, p.session+".jsonl")
	text := p.input(args)
	if code := p.open(folder); code != 0 {
		return code
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	word, rest, _ := strings.Cut(lines[len(lines)-1], " ")
	return p.do(word, rest)
}

// input reads the input up to the first message. It then continues to read responses.
func (p *program) input(args []string) string {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			fmt.Fprintln(os.Stderr, "Error: No input received on stdin")
			os.Exit(1)
		}
		var e struct {
			Type      string
			RequestID string `json:"request_id"`
			Message   struct {
				Content []struct{ Text string }
			}
		}
		if err := json.Unmarshal(line, &e); err != nil {
			fmt.Fprintln(os.Stderr, "Error: bad input: "+err.Error())
			os.Exit(1)
		}
		switch e.Type {
		case "control_request":
			p.say(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "success", "request_id": e.RequestID, "response": map[string]any{}}})
		case "user":
			var all []string
			for _, c := range e.Message.Content {
				all = append(all, c.Text)
			}
			text := strings.Join(all, "\n")
			b, _ := json.Marshal(Call{Args: args, Text: text})
			f, err := os.OpenFile(filepath.Join(os.Getenv("HOME"), "calls.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err == nil {
				_, _ = f.Write(append(b, '\n'))
				_ = f.Close()
			}
			go p.listen(in)
			return text
		}
	}
}

// listen reads the responses to the fake's requests.
func (p *program) listen(in *bufio.Reader) {
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var e struct {
			Response struct {
				RequestID string `json:"request_id"`
				Response  json.RawMessage
			}
		}
		if json.Unmarshal(line, &e) == nil {
			p.answer(e.Response.RequestID) <- e.Response.Response
		}
	}
}

func (p *program) answer(id string) chan json.RawMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answers[id] == nil {
		p.answers[id] = make(chan json.RawMessage, 1)
	}
	return p.answers[id]
}

// open finds or creates the session's file.
func (p *program) open(folder string) int {
	_, err := os.Stat(p.file)
	switch {
	case p.resumed && err != nil:
		text := "No conversation found with session ID: " + p.session
		p.say(map[string]any{"type": "result", "subtype": "error_during_execution", "is_error": true, "session_id": p.session, "errors": []string{text}})
		fmt.Fprintln(os.Stderr, text)
		return 1
	case !p.resumed && err == nil:
		fmt.Fprintf(os.Stderr, "Error: Session ID %s is already in use.\n", p.session)
		return 1
	}
	return 0
}

func (p *program) keep(line string) {
	_ = os.MkdirAll(filepath.Dir(p.file), 0o700)
	f, err := os.OpenFile(p.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(f, line)
		_ = f.Close()
	}
}

func (p *program) say(v map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.out.Encode(v)
}

func (p *program) init() {
	p.keep(`{"type":"user"}`)
	p.say(map[string]any{"type": "system", "subtype": "init", "session_id": p.session, "model": "claude-test"})
}

func (p *program) delta(text string) {
	p.say(map[string]any{"type": "stream_event", "session_id": p.session, "event": map[string]any{
		"type": "content_block_delta", "index": 0, "delta": map[string]any{"type": "text_delta", "text": text},
	}})
}

func (p *program) message(blocks ...any) {
	p.n++
	p.part(fmt.Sprintf("msg_%d_%d", os.Getpid(), p.n), blocks...)
}

func (p *program) part(id string, blocks ...any) {
	p.say(map[string]any{"type": "assistant", "session_id": p.session, "message": map[string]any{
		"id": id, "role": "assistant", "model": "claude-test", "content": blocks, "usage": map[string]int{"input_tokens": 3, "output_tokens": 1},
	}})
}

func block(text string) any { return map[string]any{"type": "text", "text": text} }

func (p *program) text(s string) {
	half := len(s) / 2
	p.delta(s[:half])
	p.delta(s[half:])
	p.message(block(s))
}

func (p *program) result(text string) int {
	p.keep(`{"type":"assistant"}`)
	r := map[string]any{
		"type": "result", "subtype": "success", "is_error": false, "session_id": p.session, "result": text, "num_turns": p.n,
		"total_cost_usd": 0.25, "usage": map[string]int{"input_tokens": 30, "output_tokens": 10},
	}
	p.say(r)
	p.say(r) // as some versions do
	return 0
}

func (p *program) do(word, rest string) int {
	switch word {
	case "die":
		fmt.Fprintln(os.Stderr, "boom")
		return 3
	case "die-on-resume":
		if p.resumed {
			fmt.Fprintln(os.Stderr, "the session is broken")
			return 3
		}
		rest = "done"
	case "hang-on-resume":
		if p.resumed {
			time.Sleep(time.Hour)
		}
		rest = "done"
	}
	p.init()
	switch word {
	case "run", "read", "die-in":
		return p.tool(word, rest)
	case "both":
		return p.both(rest)
	case "unasked":
		id := p.use("Bash", map[string]string{"command": rest})
		p.toolSucceeded(id, shell(rest))
		p.text("done")
		return p.result("done")
	case "sub":
		return p.subagent(rest)
	case "die-saying":
		p.delta(rest)
		fmt.Fprintln(os.Stderr, "out of luck")
		return 4
	case "refuse":
		p.say(map[string]any{"type": "assistant", "session_id": p.session, "message": map[string]any{"id": "msg_x", "model": "<synthetic>", "content": []any{block(rest)}}})
		p.say(map[string]any{"type": "result", "subtype": "success", "is_error": true, "session_id": p.session, "result": rest})
		return 1
	case "noise":
		_, _ = os.Stdout.WriteString("this is no event\n{\"half\":\n\n[1,2]\n")
		p.say(map[string]any{"type": "rate_limit_event", "rate_limit_info": map[string]string{"status": "allowed_warning"}})
		p.say(map[string]any{"type": "from_the_future", "x": 1})
		p.say(map[string]any{"type": "from_the_future", "x": 2})
		rest = "still here"
	case "blocks":
		a, b, _ := strings.Cut(rest, " | ")
		p.delta(a)
		p.delta(b)
		p.n++
		p.part("msg_b", block(a))
		p.part("msg_b", block(b))
		return p.result(b)
	case "big":
		n := 0
		_, _ = fmt.Sscan(rest, &n)
		p.message(block(strings.Repeat("x", n)))
		return p.result("big")
	case "eat":
		n := 0
		_, _ = fmt.Sscan(rest, &n)
		var eaten [][]byte
		for range n {
			eaten = append(eaten, bytes.Repeat([]byte{1}, 1<<20))
		}
		rest = fmt.Sprintf("ate %d", len(eaten))
	case "wait":
		p.delta("working")
		time.Sleep(time.Hour)
	}
	p.text(rest)
	return p.result(rest)
}

// use announces a tool use.
func (p *program) use(tool string, input any) string {
	p.n++
	id := fmt.Sprintf("toolu_%d", p.n) // this value is the same in every process
	p.message(map[string]any{"type": "tool_use", "id": id, "name": tool, "input": input})
	return id
}

// askPermission requests permission for a tool use, and returns the arguments with which the tool
// may run.
func (p *program) askPermission(id, tool string, input any) (in map[string]string, refusal string) {
	h := "hook-" + id
	p.say(map[string]any{"type": "control_request", "request_id": h, "request": map[string]any{"subtype": "hook_callback", "callback_id": "ask", "tool_use_id": id}})
	if hook := <-p.answer(h); !bytes.Contains(hook, []byte(`"ask"`)) {
		return nil, "the hook did not ask"
	}
	q := "may-" + id
	p.say(map[string]any{"type": "control_request", "request_id": q, "request": map[string]any{"subtype": "can_use_tool", "tool_name": tool, "input": input, "tool_use_id": id}})
	var a struct {
		Behavior, Message string
		UpdatedInput      map[string]string
	}
	if err := json.Unmarshal(<-p.answer(q), &a); err != nil || a.Behavior != "allow" {
		return nil, a.Message + " "
	}
	return a.UpdatedInput, ""
}

func (p *program) toolSucceeded(id, text string) { p.toolResult(id, text, false) }

func (p *program) toolResult(id, text string, isError bool) {
	p.say(map[string]any{"type": "user", "session_id": p.session, "message": map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": isError},
	}}})
}

// shell runs a command line. Without a shell, the line is the name of a file to create.
func shell(line string) string {
	if _, err := exec.LookPath("sh"); err != nil {
		name := strings.TrimPrefix(line, "touch ")
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			return err.Error()
		}
		return "made " + name
	}
	b, err := exec.CommandContext(context.Background(), "sh", "-c", line).CombinedOutput()
	if err != nil {
		return string(b) + err.Error()
	}
	return string(b)
}

func (p *program) tool(word, rest string) int {
	name, input := "Bash", map[string]string{"command": rest}
	if word == "read" {
		name, input = "Read", map[string]string{"file_path": rest}
	}
	id := p.use(name, input)
	in, refused := p.askPermission(id, name, input)
	switch {
	case refused != "":
		p.toolResult(id, refused, true)
	case word == "read":
		b, err := os.ReadFile(in["file_path"])
		p.toolResult(id, string(b), err != nil)
	default:
		out := shell(in["command"])
		if word == "die-in" {
			fmt.Fprintln(os.Stderr, "out of luck")
			return 5
		}
		p.toolSucceeded(id, out)
	}
	p.text("done")
	return p.result("done")
}

func (p *program) both(rest string) int {
	a, b, _ := strings.Cut(rest, " | ")
	p.n++
	msg := fmt.Sprintf("msg_both_%d", p.n)
	var wg sync.WaitGroup
	outs := map[string]string{}
	var mu sync.Mutex
	for i, cmd := range []string{a, b} {
		id := fmt.Sprintf("toolu_%d_%d", p.n, i)
		input := map[string]string{"command": cmd}
		p.part(msg, map[string]any{"type": "tool_use", "id": id, "name": "Bash", "input": input})
		wg.Go(func() { // permission for both is requested before either has run
			in, refused := p.askPermission(id, "Bash", input)
			out := refused
			if refused == "" {
				out = shell(in["command"])
			}
			mu.Lock()
			outs[id] = out
			mu.Unlock()
			p.toolResult(id, out, refused != "")
		})
	}
	wg.Wait()
	p.text("done")
	return p.result("done")
}

// subagent requests permission for a tool use of a sub-agent while the parent's tool use runs.
func (p *program) subagent(rest string) int {
	id := p.use("Task", map[string]string{"prompt": "do it"})
	if _, refused := p.askPermission(id, "Task", map[string]string{"prompt": "do it"}); refused != "" {
		p.toolResult(id, refused, true)
		p.text("no")
		return p.result("no")
	}
	p.say(map[string]any{"type": "assistant", "parent_tool_use_id": id, "message": map[string]any{"id": "msg_sub", "content": []any{
		map[string]any{"type": "tool_use", "id": "toolu_sub", "name": "Bash", "input": map[string]string{"command": rest}},
	}}})
	in, refused := p.askPermission("toolu_sub", "Bash", map[string]string{"command": rest})
	out := refused
	if refused == "" {
		out = shell(in["command"])
	}
	p.toolSucceeded(id, "the sub-agent says: "+out)
	p.text("done")
	return p.result("done")
}
