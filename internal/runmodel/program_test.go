package runmodel

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/policy"
)

// program is what one agent does: what its model answers, step by step, and what happens
// meanwhile.
type program struct {
	id     string
	run    *run
	prompt string // a word that nothing else has
	title  string // likewise, of a sub-agent's session
	last   string // likewise, of its last answer
	kind   string // of a sub-agent: its definition; "" is the run's own agent
	mode   policy.Mode
	steps  []*step

	background bool // moves only when the world says so
	parallel   bool // at the same time as others

	next        int // the step that comes
	at          *process
	unconfirmed int  // model calls whose answer may be on no record yet
	since       int  // the policy state in which the last step was answered
	cut         bool // the last step was cut short by a kill
	arrived     bool
	ended       bool
	free        chan struct{} // closed to let it move on by one step
}

// step is one answer of the model: calls of tools, or of sub-agents.
type step struct {
	calls    []*call
	children []*program
	cutOff   bool // the provider breaks off, and the tokens are paid all the same
	interleaving
}

// interleaving is what happens while a model or a person is asked.
type interleaving struct {
	what    string // "", "mode", "patch", "revoke", "kill"
	outside bool   // by another program
	mode    policy.Mode
	patch   patch
	pick    int // which grant is revoked
}

// call is one call of a fake tool.
type call struct {
	id       string
	program  *program
	tool     string
	resource string
	in, out  string // words that nothing else has
	answer   approval.Decision
	outside  bool // another program answers
	leave    bool // the person leaves the question open
	interleaving
	killed bool // the program is killed while the tool runs

	asked    bool
	planned  bool              // in plan mode
	answered approval.Decision // what counts
	recorded bool              // the answer, by another program
	ran      bool
	doubt    *change // what the answer leaves, until it is certainly on record
	left     bool
	session  string // of the question that was left
	question string
}

// held are the modes of the agent itself, besides that of the run.
func (p *program) held() []policy.Mode {
	var list []policy.Mode
	if m := kindModes[p.kind]; m != "" {
		list = append(list, m)
	}
	if p.mode != "" {
		list = append(list, p.mode)
	}
	return list
}

// kindModes are the kinds of sub-agents and their own modes.
var kindModes = map[string]policy.Mode{
	"":       "",
	"worker": "",
	"plans":  policy.ModePlan,
	"edits":  policy.ModeAcceptEdits,
	"mutes":  policy.ModeDontAsk,
}

var (
	someModes = []policy.Mode{
		policy.ModeDefault, policy.ModeDefault, policy.ModeAuto, policy.ModeAcceptEdits, policy.ModePlan,
		policy.ModeDontAsk, policy.ModeBypass, policy.ModeRestricted, policy.ModeSilent,
	}
	someTools = []string{toolPost, toolPost, toolEdit, toolEdit, toolLook}
	someFiles = []string{"/w/a", "/w/b"}
)

// one draws one of a list.
func one[T any](t *rapid.T, label string, list ...T) T {
	return list[rapid.IntRange(0, len(list)-1).Draw(t, label)]
}

// chance draws something that happens once in n times.
func chance(t *rapid.T, n int, label string) bool { return rapid.IntRange(1, n).Draw(t, label) == n }

func (w *simulation) drawMeanwhile(t *rapid.T, kills bool) interleaving {
	m := interleaving{what: one(t, "meanwhile", "", "", "", "", "", "mode", "mode", "patch", "revoke", "kill")}
	switch m.what {
	case "":
		return m
	case "kill":
		if !kills || !chance(t, 2, "really") {
			m.what = ""
		}
		return m
	case "mode":
		m.mode = one(t, "mode", someModes...)
	case "patch":
		m.patch = patch{one(t, "effect", policy.Deny, policy.Allow), one(t, "path", someFiles...)}
	case "revoke":
		m.pick = rapid.IntRange(0, 5).Draw(t, "grant")
	}
	m.outside = rapid.Bool().Draw(t, "outside")
	return m
}

// drawCall draws a call. In plain ones nothing is left, killed or changed for longer.
func (w *simulation) drawCall(t *rapid.T, p *program, plain bool) *call {
	c := &call{
		id: w.name("c"), program: p, tool: one(t, "tool", someTools...), resource: one(t, "file", someFiles...),
		in: w.word(), out: w.word(),
		answer: one(t, "answer", approval.Allow, approval.AllowSession, approval.DenySession, approval.Deny, approval.AllowSession),
	}
	if plain {
		if c.answer.Session() {
			c.answer = approval.Allow
		}
	}
	if !plain {
		c.interleaving = w.drawMeanwhile(t, true)
		c.outside = chance(t, 6, "answered elsewhere")
		c.leave = !p.background && p.kind == "" && chance(t, 8, "left")
		c.killed = chance(t, 30, "killed")
	}
	w.calls[c.id] = c
	return c
}

func (w *simulation) drawProgram(t *rapid.T, r *run, kind string, plain bool) *program {
	p := &program{id: w.name("p"), run: r, kind: kind, prompt: w.word(), title: w.word(), last: w.word(), parallel: plain, free: make(chan struct{})}
	w.programs[p.id] = p
	most := 4
	if kind != "" {
		most = 3
	}
	for range rapid.IntRange(0, most).Draw(t, "steps") {
		s := &step{}
		if !plain {
			s.interleaving = w.drawMeanwhile(t, true)
		}
		what := one(t, "step", "tool", "tool", "tools", "child", "child", "children", "background", "cut off")
		if kind != "" && what != "cut off" && what != "tools" {
			what = "tool"
		}
		switch what {
		case "tool":
			s.calls = append(s.calls, w.drawCall(t, p, plain))
		case "tools":
			for range rapid.IntRange(2, 3).Draw(t, "calls") {
				s.calls = append(s.calls, w.drawCall(t, p, plain))
			}
		case "cut off":
			s.cutOff = true
		case "children":
			for range rapid.IntRange(2, 3).Draw(t, "children") {
				s.children = append(s.children, w.drawChild(t, r, true))
			}
		case "background", "child":
			c := w.drawChild(t, r, false)
			// With a budget it would wait for the call in which its parent waits for it.
			c.background = what == "background" && r.budget == 0
			s.children = append(s.children, c)
		}
		p.steps = append(p.steps, s)
		if s.cutOff {
			break // the turn ends
		}
	}
	return p
}

func (w *simulation) drawChild(t *rapid.T, r *run, plain bool) *program {
	p := w.drawProgram(t, r, one(t, "kind", "worker", "worker", "plans", "edits", "mutes"), plain)
	p.mode = one[policy.Mode](t, "own mode", "", "", "", policy.ModePlan, policy.ModeSilent)
	return p
}

// name is an id that the world has not given yet.
func (w *simulation) name(prefix string) string {
	w.names++
	return fmt.Sprintf("%s%d", prefix, w.names)
}

// word is a text that nothing else has, and that no other text has in it.
func (w *simulation) word() string {
	w.names++
	return fmt.Sprintf("%sword%dq", w.prefix, w.names)
}
