package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/policy"
)

// A conversation is a file of testdata/conversations: what clients send and what they must receive
// from a whole daemon. Its files are "play.AGENT", the script of an agent's model, and "FILE", which
// is written to the run's folder. The comment says what it shows; the file "talk" has a line for
// each step:
//
//	open b read approve   client b connects with these scopes ("open b" alone: with none);
//	                      a client that was not opened connects with read, run and approve
//	b> FRAME              b sends this frame
//	b< {…}                the next frame to b is exactly this; "...": true in an object
//	                      allows more keys. Provisional messages are skipped.
//	b<< {…}               b receives this sooner or later (with more keys)
//	b< close 1008         its connection is closed
//	drop b                b disconnects without a close frame
//	idle b                no frame is on its way to b, which a ping shows
//	release               tools that wait continue
//	ran a, b              these calls have run
//	restart               the daemon ends, and another one starts
//
// In sent and received frames, "<name>" is a value that is stored when it is received first, and
// "<ts>", "<id>", "<seq>" and "<any>" match any time, text, number or value. "<cwd>" is the run's
// folder.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/conversations/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no conversations", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			t.Parallel()
			converse(t, f)
		})
	}
}

// Each message and each error code occurs in a conversation.
func TestConversationsCoverMessages(t *testing.T) {
	var schema struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(wire.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/conversations/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all += string(b)
	}
	elsewhere := map[string]string{
		"gap": "TestGap", "steer_withdrawn": "TestSteeringMessages", "subagent_steered": "TestSteeringMessages", "subagent_stopped": "TestSteeringMessages", "MESSAGE_TOO_LARGE": "TestMessageTooLarge", "RATE_LIMITED": "TestTooManyMessages",
		"INTERNAL_ERROR": "TestDamagedLog", "DRAINING": "TestDrainingStartsNothing",
		"STORE_UNAVAILABLE": "TestSocketStoreUnavailable",
	}
	for name := range schema.Defs {
		side, kind, ok := strings.Cut(name, ".")
		if !ok || side != "client" && side != "daemon" {
			continue
		}
		line := map[string]string{"client": `> {"type":"` + kind, "daemon": `< {"type":"` + kind}[side] + `"`
		if !strings.Contains(all, line) && elsewhere[kind] == "" {
			t.Errorf("no conversation has %s", line)
		}
	}
	var failure struct {
		Properties struct{ Code struct{ Examples []string } }
	}
	if err := json.Unmarshal(schema.Defs["daemon.error"], &failure); err != nil || len(failure.Properties.Code.Examples) == 0 {
		t.Fatal("the schema has no codes", err)
	}
	for _, c := range failure.Properties.Code.Examples {
		if !strings.Contains(all, `"code":"`+c+`"`) && elsewhere[c] == "" {
			t.Errorf("no conversation has the code %s", c)
		}
	}
}

// conversation is the state of a conversation.
type conversation struct {
	t       *testing.T
	w       *daemonEnv
	clients map[string]*client
	known   map[string]any // by placeholder
	line    string
}

func converse(t *testing.T, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	plays := map[string]string{}
	files := map[string][]byte{}
	lines := ""
	for _, f := range a.Files {
		if name, ok := strings.CutPrefix(f.Name, "play."); ok {
			plays[name] = string(f.Data)
		} else if f.Name == "talk" {
			lines = string(f.Data)
		} else {
			files[f.Name] = f.Data
		}
	}
	w := beginDaemon(t, plays, nil)
	c := &conversation{t: t, w: w, clients: map[string]*client{}, known: map[string]any{"cwd": w.cwd}}
	c.files(files)
	for i, line := range strings.Split(lines, "\n") {
		c.line = fmt.Sprintf("%s, line %d of talk: %.300s", file, i+1, line)
		if line != "" && !strings.HasPrefix(line, "#") {
			c.do(line)
		}
	}
}

// files writes the run's files. "ask" is the lifetime of approval requests, "rules" are rules of
// the session such as "deny Bash(x)".
func (c *conversation) files(files map[string][]byte) {
	for name, b := range files {
		switch name {
		case "ask":
			d, err := time.ParseDuration(strings.TrimSpace(string(b)))
			if err != nil {
				c.t.Fatal(err)
			}
			c.w.ask = d
		case "rules":
			for line := range strings.Lines(string(b)) {
				effect, text, _ := strings.Cut(strings.TrimSpace(line), " ")
				c.w.rules = append(c.w.rules, policy.RuleSource{Effect: policy.Effect(effect), Text: text, Layer: layernames.User, Dir: c.w.cwd})
			}
		default:
			writeFile(c.t, filepath.Join(c.w.cwd, name), b)
		}
	}
}

var (
	sends   = regexp.MustCompile(`^(\w+)> (.*)$`)
	expects = regexp.MustCompile(`^(\w+)(<<?) (.*)$`)
	closing = regexp.MustCompile(`^close (\d+)$`)
)

func (c *conversation) do(line string) {
	c.t.Helper()
	if m := sends.FindStringSubmatch(line); m != nil {
		c.client(m[1]).send(c.fill(m[2]))
		return
	}
	if m := expects.FindStringSubmatch(line); m != nil {
		c.expect(c.client(m[1]), m[3], m[2] == "<<")
		return
	}
	words := strings.Fields(line)
	switch words[0] {
	case "open":
		token := ""
		if len(words) > 2 {
			var scopes []api.Scope
			for _, s := range words[2:] {
				scopes = append(scopes, api.Scope(s))
			}
			token = c.w.token(scopes...)
		}
		c.clients[words[1]] = c.w.dial(token)
	case "token":
		c.known[words[1]] = c.w.token(api.ScopeRead, api.ScopeRun, api.ScopeApprove)
	case "drop":
		_ = c.client(words[1]).ws.CloseNow()
		delete(c.clients, words[1])
	case "idle":
		own := c.client(words[1])
		own.send(`{"type":"ping","requestId":"idle"}`)
		c.expect(own, `{"type":"pong","requestId":"idle","ts":"<ts>"}`, false)
	case "release":
		c.w.release()
	case "ran":
		want := strings.Split(strings.TrimPrefix(line, "ran "), ", ")
		if line == "ran nothing" {
			want = nil
		}
		if got := c.w.did(); !slices.Equal(got, want) {
			c.t.Fatalf("%s\nran %q", c.line, got)
		}
	case "restart":
		for _, own := range c.clients {
			_ = own.ws.CloseNow()
		}
		c.w.restart()
		clear(c.clients)
	default:
		c.t.Fatalf("%s: unknown line", c.line)
	}
}

func (c *conversation) client(name string) *client {
	if c.clients[name] == nil {
		c.clients[name] = c.w.ann()
	}
	return c.clients[name]
}

var placeholder = regexp.MustCompile(`"<(\w+)>"|<(\w+)>`)

// fill replaces the placeholders in a frame.
func (c *conversation) fill(frame string) string {
	return placeholder.ReplaceAllStringFunc(frame, func(p string) string {
		v, ok := c.known[strings.Trim(p, `"<>`)]
		if !ok {
			return p
		}
		if s, text := v.(string); text && !strings.HasPrefix(p, `"`) {
			return s
		}
		b, err := json.Marshal(v)
		if err != nil {
			c.t.Fatal(err)
		}
		return string(b)
	})
}

// expect compares the next frame, or the next that matches.
func (c *conversation) expect(from *client, want string, later bool) {
	c.t.Helper()
	if m := closing.FindStringSubmatch(want); m != nil {
		code, _ := strconv.Atoi(m[1])
		if got := from.closeCode(); got != websocket.StatusCode(code) {
			c.t.Fatalf("%s\nclosed with %d", c.line, got)
		}
		return
	}
	pattern := object(c.t, []byte(want))
	var passed []string
	for {
		b, err := from.read()
		if err != nil {
			c.t.Fatalf("%s\n%v\nheard before:\n%s", c.line, err, strings.Join(passed, "\n"))
		}
		if err := checkFrame(b); err != nil {
			c.t.Fatalf("%s\na client cannot read %s: %v", c.line, b, err)
		}
		got := object(c.t, b)
		if !later && provisional(got) {
			continue
		}
		before := maps.Clone(c.known)
		err = c.match("", pattern, got, later)
		if err == nil {
			return
		}
		c.known = before
		passed = append(passed, fmt.Sprintf("%s: %v", b, err))
		if !later {
			c.t.Fatalf("%s\nheard\n%s", c.line, strings.Join(passed, "\n"))
		}
	}
}

func provisional(m map[string]any) bool {
	_, durable := m["seq"]
	return m["type"] == "agent_streaming" && !durable
}

// match returns where got differs from pattern.
func (c *conversation) match(at string, pattern, got any, loose bool) error {
	switch p := pattern.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is not an object", at)
		}
		_, more := p["..."]
		for k, v := range p {
			if k == "..." {
				continue
			}
			value, there := g[k]
			if !there {
				return fmt.Errorf("%s.%s is missing", at, k)
			}
			if err := c.match(at+"."+k, v, value, loose); err != nil {
				return err
			}
		}
		for k := range g {
			if _, there := p[k]; !there && !more && !loose {
				return fmt.Errorf("%s.%s is unexpected", at, k)
			}
		}
		return nil
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(p) {
			return fmt.Errorf("%s has another length", at)
		}
		for i := range p {
			if err := c.match(fmt.Sprintf("%s[%d]", at, i), p[i], g[i], loose); err != nil {
				return err
			}
		}
		return nil
	case string:
		return c.matchText(at, p, got)
	}
	if fmt.Sprint(pattern) != fmt.Sprint(got) {
		return fmt.Errorf("%s is %v, not %v", at, got, pattern)
	}
	return nil
}

var onlyPlaceholder = regexp.MustCompile(`^<(\w+)>$`)

func (c *conversation) matchText(at, p string, got any) error {
	text, isText := got.(string)
	m := onlyPlaceholder.FindStringSubmatch(p)
	if m == nil {
		if want := c.fill(p); !isText || want != text {
			return fmt.Errorf("%s is %v, not %s", at, got, want)
		}
		return nil
	}
	_, isNumber := got.(json.Number)
	_, notTime := time.Parse("2006-01-02T15:04:05.000Z", text)
	bad := false
	switch m[1] {
	case "ts":
		bad = !isText || notTime != nil
	case "id":
		bad = !isText || text == ""
	case "seq":
		bad = !isNumber
	case "any":
	default:
		if known, there := c.known[m[1]]; there {
			bad = fmt.Sprint(known) != fmt.Sprint(got)
		} else {
			c.known[m[1]] = got
		}
	}
	if bad {
		return fmt.Errorf("%s is %v, not %s", at, got, c.fill(p))
	}
	return nil
}

func writeFile(t testing.TB, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
