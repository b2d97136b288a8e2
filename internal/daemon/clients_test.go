package daemon

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/testprogram"
)

// program is a third-party client: a running process whose output is read line by line.
type program struct {
	t     testing.TB
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // closed at the end of the output
}

func launch(t testing.TB, path string, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.CommandContext(t.Context(), path, args...), lines: make(chan string, 1<<16)}
	p.cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(path)+":"+os.Getenv("PATH")) // its own node has precedence
	p.cmd.Stderr = t.Output()
	var err error
	p.in, err = p.cmd.StdinPipe()
	must(t, err)
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	must(t, p.cmd.Start())
	go func() {
		defer close(p.lines)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			p.lines <- strings.TrimLeft(lines.Text(), "> ") // wscat's prompt, which it prints now and then
		}
	}()
	t.Cleanup(p.kill)
	return p
}

// kill kills the program and reads the rest of its output.
func (p *program) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	for range p.lines {      // discard the rest of the output
	}
	_ = p.cmd.Wait() // it was killed
}

func (p *program) line() string {
	p.t.Helper()
	select {
	case l, ok := <-p.lines:
		if !ok {
			p.t.Fatalf("%s has ended", p.cmd.Path)
		}
		return l
	case <-time.After(30 * time.Second):
		p.t.Fatalf("%s prints nothing", p.cmd.Path)
		return ""
	}
}

// daemonProcess is the daemon as a separate process, so that processes of the test do not count as started
// by the daemon.
type daemonProcess struct {
	t            testing.TB
	program      string
	env          []string
	cwd, address string
}

func startDaemonProcess(t testing.TB, play string) *daemonProcess {
	t.Helper()
	home, err := os.MkdirTemp("", "hf") // short enough for the path of a socket
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(home)) })
	s := &daemonProcess{t: t, program: testprogram.Path(t), cwd: t.TempDir()}
	s.env = append(os.Environ(), "HOLDFAST_HOME="+home, "HOLDFAST_MODEL=scripted/"+filepath.Join(home, "play.yaml"), "DOCKER_HOST=unix://"+filepath.Join(home, "none.sock"))
	must(t, os.WriteFile(filepath.Join(home, "play.yaml"), []byte(play), 0o600))
	cmd := exec.CommandContext(t.Context(), s.program, "daemon", "--listen", "127.0.0.1:0", "--log-format", "json")
	cmd.Env, cmd.Dir = s.env, s.cwd
	logged, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // its runs have ended
		_ = cmd.Wait()         // it was killed
	})
	lines := bufio.NewScanner(logged)
	for lines.Scan() {
		var entry struct {
			Msg       string
			Addresses []string
		}
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "serving" && len(entry.Addresses) == 1 {
			s.address = strings.TrimPrefix(entry.Addresses[0], "http://")
			return s
		}
		t.Log(lines.Text())
	}
	t.Fatal("the daemon does not serve")
	return nil
}

func (s *daemonProcess) token(scopes string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), s.program, "daemon", "token", "create", "ann", "--scope", scopes)
	cmd.Env = s.env
	out, err := cmd.Output()
	must(s.t, err)
	return strings.TrimSpace(string(out))
}

// wscat connects wscat, with more arguments.
func (s *daemonProcess) wscat(args ...string) *program {
	s.t.Helper()
	return launch(s.t, wscat(s.t), append(args, "-c", "ws://"+s.address+"/v1/ws")...)
}

func wscat(t testing.TB) string {
	t.Helper()
	tools := os.Getenv("HOLDFAST_WEBTOOLS")
	if tools == "" {
		testneed.Need(t, `eval "$(scripts/services env webtools)" makes this run`)
	}
	return filepath.Join(tools, "node_modules", ".bin", "wscat")
}

// connected waits until wscat has connected; it discards earlier input.
func (p *program) connected() {
	p.t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for pings := 1; ; pings++ {
		p.send(`{"type":"ping","requestId":"%d"}`, pings)
		select {
		case l := <-p.lines:
			for object(p.t, []byte(l))["requestId"] != fmt.Sprint(pings) {
				l = p.line() // answers to the earlier ones
			}
			return
		case <-again.C:
		}
	}
}

func (p *program) send(format string, args ...any) {
	p.t.Helper()
	line := fmt.Sprintf(format, args...)
	p.t.Log(">", line)
	_, err := fmt.Fprintln(p.in, line)
	must(p.t, err)
}

// frame reads until a message of a type, and returns the recorded messages up to it.
func (p *program) frame(kind string) (last map[string]any, recorded []string) {
	p.t.Helper()
	for {
		line := p.line()
		p.t.Log("<", line)
		m := object(p.t, []byte(line))
		if m["seq"] != nil && m["pending"] == nil && m["type"] != "caught_up" {
			recorded = append(recorded, line)
		}
		if m["type"] == kind {
			return m, recorded
		}
	}
}

const fixScript = `steps:
  - text: I write.
    chunk: 2
    tool_uses: [{tool: write_file, input: {path: a.txt, content: "+x"}}]
  - text: I look.
    tool_uses: [{tool: Bash, input: {command: make}}]
  - {text: Done., chunk: 2}`

const writeScript = `steps:
  - text: I write.
    chunk: 2
    tool_uses: [{tool: Write, input: {file_path: a.txt, content: x}}]
  - text: And again.
    tool_uses: [{tool: Write, input: {file_path: b.txt, content: x}}]
  - {text: Done., chunk: 2}`

// wscat drives a run from its preparation to its end and answers its requests. A second one
// connects later, authenticates by its first message, and receives the same bytes.
func TestWscat(t *testing.T) {
	wscat(t)
	w := startDaemonProcess(t, writeScript)
	p := w.wscat("-H", "Authorization: Bearer "+w.token("read,run,approve"))
	p.connected()
	cwd, err := json.Marshal(w.cwd)
	must(t, err)
	p.send(`{"type":"prepare_run","requestId":"1","cwd":%s,"strategy":%s}`, cwd, soleWriter)
	m, _ := p.frame("run_prepared")
	run := m["runId"]
	p.send(`{"type":"start_run","requestId":"2","runId":"%s","input":"fix it"}`, run)
	m, all := p.frame("request_permission")
	if m["toolName"] != "Write" || m["requestId"] != m["permissionRequestId"] {
		t.Errorf("it asks %v", m)
	}
	p.send(`{"type":"permission_decision","runId":"%s","permissionRequestId":"%s","decision":"allow-session"}`, run, m["permissionRequestId"])
	m, more := p.frame("request_permission")
	all = append(all, more...)
	p.send(`{"type":"permission_decision","runId":"%s","permissionRequestId":"%s","decision":"deny","message":"not now"}`, run, m["permissionRequestId"])
	m, more = p.frame("strategy_completed")
	all = append(all, more...)
	if text, _ := m["result"].(string); !strings.HasSuffix(text, "Done.") || m["requestId"] != "2" {
		t.Errorf("it ended as %v", m)
	}
	if files, err := filepath.Glob(filepath.Join(w.cwd, "*.txt")); err != nil || len(files) != 1 || filepath.Base(files[0]) != "a.txt" {
		t.Errorf("it wrote %v: %v", files, err)
	}
	for _, kind := range []string{"strategy_started", "step_started", "agent_output", "permission_resolved", "policy_updated", "step_completed"} {
		if !slices.ContainsFunc(all, func(l string) bool { return strings.HasPrefix(l, `{"type":"`+kind+`"`) }) {
			t.Errorf("no %s arrived", kind)
		}
	}
	hello := fmt.Sprintf(`{"type":"hello","token":"%s","client":"wscat"}`, w.token("read"))
	late := w.wscat("-w", "-1", "-x", hello, "-x", fmt.Sprintf(`{"type":"subscribe","runId":"%s","afterSeq":0}`, run))
	if _, received := late.frame("caught_up"); !slices.Equal(received, all) {
		t.Errorf("the second client received\n%s\ninstead of\n%s", strings.Join(received, "\n"), strings.Join(all, "\n"))
	}
	other := w.wscat("-w", "-1", "-x", hello, "-x", fmt.Sprintf(`{"type":"stop_run","requestId":"9","runId":"%s"}`, run))
	if m, _ = other.frame("error"); m["code"] != "FORBIDDEN" || m["requestId"] != "9" {
		t.Errorf("a client with the scope read received %v", m)
	}
	create := exec.CommandContext(t.Context(), w.program, "workspace", "create", "blog")
	create.Env = w.env
	out, err := create.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.send(`{"type":"prepare_run","requestId":"3","workspace":"blog","strategy":%s}`, soleWriter)
	if m, _ = p.frame("run_prepared"); m["workspace"] != "blog" || m["requestId"] != "3" {
		t.Errorf("prepared is %v", m)
	}
	p.send(`{"type":"start_run","requestId":"4","runId":"%s","input":"go"}`, m["runId"])
	if m, _ = p.frame("strategy_error"); !strings.Contains(fmt.Sprint(m["error"]), "no container engine") {
		t.Errorf("without an engine the answer is %v", m)
	}
}

// curl reads a run's event stream. It is cut off in the middle of an answer, while a request waits,
// and when the daemon ends, and continues each time after the last id it received.
func TestCurlFollowsRun(t *testing.T) {
	t.Parallel()
	curl, err := exec.LookPath("curl")
	if err != nil {
		testneed.Need(t, "curl is not installed: apt-get install curl makes this run")
	}
	w := beginDaemon(t, map[string]string{"writer": fixScript}, nil)
	c := w.ann()
	run := c.prepare(w.cwd)
	c.send(fmt.Sprintf(`{"type":"start_run","runId":%q,"input":"fix it"}`, run))
	c.until("strategy_started")
	follow := func(last string) *program {
		return launch(t, curl, "-sN", "-H", "Accept: text/event-stream", "-H", "Authorization: Bearer "+w.token(api.ScopeRead),
			"-H", "Last-Event-ID: "+last, "http://"+w.address+"/v1/sessions/"+run+"/events")
	}
	var got []sseEvent
	last := "0"
	listen := func(until string) { // to the stream, up to an event whose data has a text
		p := follow(last)
		defer p.kill()
		for {
			e := p.event()
			if e.id != "" {
				got, last = append(got, e), e.id
			}
			if strings.Contains(e.data, until) || e.event == until {
				return
			}
		}
	}
	decide := func(decision string) {
		m := c.until("request_permission")
		c.send(fmt.Sprintf(`{"type":"permission_decision","runId":%q,"permissionRequestId":%q,"decision":%q}`, run, m["permissionRequestId"], decision))
	}
	listen(`"kind":"approval.asked"`)
	decide("allow")
	c.until("request_permission")
	listen(`"kind":"tool.finished"`)
	w.restart() // the second request waits
	listen("caught_up")
	c = w.ann()
	c.send(fmt.Sprintf(`{"type":"subscribe","runId":%q}`, run))
	decide("allow")
	c.until("permission_resolved")
	c.send(fmt.Sprintf(`{"type":"continue_run","runId":%q}`, run))
	c.until("strategy_completed")
	listen(`"event":"completed"`)
	done, end := got, last
	got, last = nil, "0"
	listen("caught_up")
	if !slices.Equal(done, got) || last != end {
		t.Errorf("in pieces %d events up to %s, at once %d up to %s\n%v\n%v", len(done), end, len(got), last, done, got)
	}
}

// event reads one event of a stream.
func (p *program) event() (e sseEvent) {
	p.t.Helper()
	for {
		switch name, value, _ := strings.Cut(p.line(), ": "); {
		case name == "id":
			e.id = value
		case name == "event":
			e.event = value
		case name == "data":
			e.data = value
		case name == "" && e != sseEvent{}:
			return e
		}
	}
}
