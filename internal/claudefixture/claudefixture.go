// Package claudefixture generates a folder in the form of Claude Code's, for tests and measurements. The same
// options give the same bytes.
package claudefixture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
)

// Options describes the folder to generate.
type Options struct {
	Sessions int
	Turns    int // of each session
	Result   int // bytes of a tool's result, on average
	Faults   bool
	LongLine int // bytes of one long line, in the session after the faulty ones; 0: none
}

// Summary describes the generated folder, so that an import can be compared with it.
type Summary struct {
	Files   int
	Bytes   int64
	Items   int // number of items that an import creates in all sessions
	Faulty  map[string]string
	Session func(i int) string
}

// The faults that Options.Faults puts into the first sessions, one into each.
const (
	Truncated     = "truncated tail"
	MissingParent = "dangling parent"
	Unknown       = "unknown types"
	Broken        = "broken line"
	Cycle         = "circle of parents"
	Compacted     = "compaction"
	Parallel      = "parallel tools"
	Branched      = "a branch taken back"
	Subagent      = "a sub-agent"
)

// Faults lists them in the order of the sessions that have them.
var Faults = []string{Truncated, MissingParent, Unknown, Broken, Cycle, Compacted, Parallel, Branched, Subagent}

// SessionID is the id of session i.
func SessionID(i int) string { return fmt.Sprintf("5e551011-0000-4000-8000-%012x", i) }

// Make creates the folder dir/projects and its content.
func Make(dir string, o Options) (Summary, error) {
	m := Summary{Faulty: map[string]string{}, Session: SessionID}
	for i := range o.Sessions {
		s := &generator{o: o, id: SessionID(i), rand: rand.New(rand.NewPCG(7, uint64(i)))}
		if o.Faults && i < len(Faults) {
			s.fault = Faults[i]
			m.Faulty[s.fault] = s.id
		}
		if o.LongLine > 0 && i == len(Faults) {
			s.long = o.LongLine
		}
		s.session()
		project := filepath.Join(dir, "projects", fmt.Sprintf("-work-project-%d", i%7))
		if err := os.MkdirAll(project, 0o700); err != nil {
			return m, err
		}
		if err := os.WriteFile(filepath.Join(project, s.id+".jsonl"), s.b.Bytes(), 0o600); err != nil {
			return m, err
		}
		m.Files++
		m.Bytes += int64(s.b.Len())
		m.Items += s.items
		if s.fault == Subagent {
			n, err := s.subagent(project)
			if err != nil {
				return m, err
			}
			m.Files, m.Bytes, m.Items = m.Files+1, m.Bytes+n, m.Items+2
		}
	}
	return m, nil
}

// generator generates one session.
type generator struct {
	o      Options
	id     string
	fault  string
	long   int
	rand   *rand.Rand
	b      bytes.Buffer
	n      int
	parent string
	items  int
	side   bool
}

func (s *generator) uuid() string {
	s.n++
	return fmt.Sprintf("%08x-0000-4000-8000-%s", s.n, s.id[24:])
}

// entry writes one line of a type with body, usually a message.
func (s *generator) entry(typ, body string) string {
	id := s.uuid()
	parent := "null"
	if s.parent != "" {
		parent = jsonscan.Quote(s.parent)
	}
	fmt.Fprintf(&s.b, `{"parentUuid":%s,"isSidechain":%v,"userType":"external","cwd":"/home/ann/project","sessionId":"%s","version":"2.1.144","gitBranch":"main",`, parent, s.side, s.id)
	fmt.Fprintf(&s.b, `"type":"%s",%s,"uuid":"%s","timestamp":"2026-01-02T%02d:%02d:%02d.%03dZ"}`+"\n", typ, body, id, s.n/3600%24, s.n/60%60, s.n%60, s.n%1000)
	s.parent = id
	return id
}

func (s *generator) user(text string) string {
	s.items++
	return s.entry("user", `"message":{"role":"user","content":`+jsonscan.Quote(text)+`}`)
}

func (s *generator) result(use, text string) string {
	s.items++
	return s.entry("user", `"message":{"role":"user","content":[{"tool_use_id":"`+use+`","type":"tool_result","content":`+jsonscan.Quote(text)+`}]},"toolUseResult":{"stdout":`+jsonscan.Quote(text)+`,"stderr":"","interrupted":false}`)
}

// block writes a line of an answer.
func (s *generator) block(message, block, stop string) string {
	return s.entry("assistant", `"message":{"id":"`+message+`","type":"message","role":"assistant","model":"claude-opus-4-5","content":[`+block+`],"stop_reason":`+stop+
		`,"stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":340,"cache_read_input_tokens":5600,"output_tokens":78,"service_tier":"standard"}},"requestId":"req_`+message+`"`)
}

// words makes up about n bytes of text.
func (s *generator) words(n int) string {
	const of = "the quick brown fox func main() { return nil } // über 日本語 \"quoted\" path/to/file.go:42 error: not found\n\ttab <html> & more "
	var b strings.Builder
	for b.Len() < n {
		at := s.rand.IntN(64)
		for at > 0 && of[at-1]&0x80 != 0 {
			at--
		}
		b.WriteString(strings.ToValidUTF8(of[at:], ""))
	}
	return b.String()
}

func (s *generator) session() {
	fmt.Fprintf(&s.b, `{"type":"file-history-snapshot","messageId":"%s","snapshot":{"trackedFileBackups":{}},"isSnapshotUpdate":false}`+"\n", s.id)
	for t := range s.o.Turns {
		s.turn(t)
		if t == s.o.Turns/2 {
			s.insert()
		}
	}
	fmt.Fprintf(&s.b, `{"type":"custom-title","customTitle":"session %s","sessionId":"%s"}`+"\n", s.id[24:], s.id)
	if s.fault == Truncated {
		s.b.WriteString(`{"parentUuid":"` + s.parent + `","type":"user","message":{"role":"user","content":"cut o`)
	}
}

func (s *generator) turn(t int) {
	text := s.words(200)
	if s.long > 0 && t == 1 {
		text = s.words(s.long)
	}
	s.user(fmt.Sprintf("prompt %d: %s", t, text))
	message := fmt.Sprintf("msg_%s%04d", s.id[30:], t)
	s.block(message, `{"type":"thinking","thinking":`+jsonscan.Quote(s.words(300))+`,"signature":"c2lnbmF0dXJl"}`, "null")
	s.block(message, `{"type":"text","text":`+jsonscan.Quote(s.words(150))+`}`, "null")
	use := fmt.Sprintf("toolu_%s%04d", s.id[30:], t)
	s.block(message, `{"type":"tool_use","id":"`+use+`","name":"Bash","input":{"command":`+jsonscan.Quote("grep -rn "+s.words(40))+`,"n":12345678901234567890}}`, `"tool_use"`)
	s.items++
	s.entry("attachment", `"attachment":{"type":"hook_success","hookName":"PreToolUse:Bash","toolUseID":"`+use+`","exitCode":0,"stdout":""}`)
	s.result(use, s.words(s.o.Result/2+s.rand.IntN(s.o.Result+1)))
	s.block(message+"b", `{"type":"text","text":`+jsonscan.Quote(s.words(400))+`}`, `"end_turn"`)
	s.items++
	fmt.Fprintf(&s.b, `{"type":"queue-operation","operation":"enqueue","sessionId":"%s","timestamp":"2026-01-02T00:00:00.000Z"}`+"\n", s.id)
}

// insert writes the session's fault in the middle of the session.
func (s *generator) insert() {
	switch s.fault {
	case MissingParent:
		s.parent = "dead0000-0000-4000-8000-000000000000"
	case Unknown:
		s.b.WriteString(`{"type":"quantum-state","uuid":"dead0000-0000-4000-8000-00000000000f","spin":[0.5,-0.5],"n":10000000000000000001}` + "\n")
		s.b.WriteString(`{"type" : "spaced-out", "of" : {"b":1, "a":1.0}}` + "\n")
	case Broken:
		s.b.WriteString("{\"type\":\"user\",\"message\":{\"role\"\x00 not json\n\n")
	case Cycle:
		s.parent = fmt.Sprintf("%08x-0000-4000-8000-%s", s.n+1, s.id[24:]) // itself
	case Compacted:
		before := s.parent
		s.parent = ""
		s.entry("system", `"subtype":"compact_boundary","content":"Conversation compacted","logicalParentUuid":"`+before+`","compactMetadata":{"trigger":"auto","preTokens":155000}`)
		s.items++
		s.entry("user", `"isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"role":"user","content":"This session is being continued: `+"summary"+`"}`)
	case Parallel:
		s.parallel()
	case Branched:
		back := s.parent
		s.user("this prompt is taken back")
		s.block("msg_back"+s.id[30:], `{"type":"text","text":"an answer that nobody keeps"}`, `"end_turn"`)
		s.items-- // neither of the two
		s.parent = back
	}
}

// parallel writes two calls of one answer. The parent of each result is its call.
func (s *generator) parallel() {
	message := "msg_par" + s.id[30:]
	s.user("do two things")
	s.items++
	a := s.block(message, `{"type":"tool_use","id":"toolu_parA`+s.id[30:]+`","name":"Read","input":{"file_path":"/a"}}`, "null")
	b := s.block(message, `{"type":"tool_use","id":"toolu_parB`+s.id[30:]+`","name":"Read","input":{"file_path":"/b"}}`, `"tool_use"`)
	s.parent = a
	s.result("toolu_parA"+s.id[30:], "of a")
	s.parent = b
	s.result("toolu_parB"+s.id[30:], "of b")
}

// subagent writes a sub-agent's file and the files next to it.
func (s *generator) subagent(project string) (int64, error) {
	dir := filepath.Join(project, s.id, "subagents")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	sub := &generator{o: s.o, id: s.id, rand: s.rand, side: true}
	sub.user("look for it")
	sub.block("msg_sub", `{"type":"text","text":"found it"}`, `"end_turn"`)
	if err := os.WriteFile(filepath.Join(dir, "agent-a1b2c3.jsonl"), sub.b.Bytes(), 0o600); err != nil {
		return 0, err
	}
	return int64(sub.b.Len()), os.WriteFile(filepath.Join(dir, "agent-a1b2c3.meta.json"), []byte(`{"agentType":"Explore","toolUseId":"toolu_x"}`), 0o600)
}
