package policy_test

import (
	"context"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/policy"
)

func TestGuardCorpus(t *testing.T) {
	const socket = "a message on the socket, which belongs to the daemon; "
	corpus.Claim(t, corpus.Area(t, "agentkit-commaagents-parachute.json",
		"guard", "update-policy", "permission-wire", "permission+persistence", "permission+sandbox", "approval+sandbox"),
		map[string]func(*testing.T, corpus.Case){
			"guard": guardCase, "update-policy": updateCase, "permission-wire": wireCase,
			"permission+persistence": persistenceCase, "approval+sandbox": canonicalCase,
		},
		map[string]string{
			"cd-guard-008": "what becomes of a question is the agent's part: its corpus test has it",
			"cd-guard-009": "what becomes of a question is the agent's part: its corpus test has it",
			"cd-guard-010": "which spellings of a path a tool takes is the tool's business; what reaches a guard is canonical",
			"cd-perm-001":  socket + "what it says is a question's record (package approval)",
			"cd-perm-002":  socket + "that a yes is once is tested here as cd-guard-014",
			"cd-perm-004":  socket + "approval.Resolve answers ErrNoQuestion",
			"cd-perm-008":  socket + "the agent ends a question with its run",
			"cd-perm-010":  socket + "approval.Resolve refuses unknown decisions",
			"cd-perm-012":  socket + "the question is in the log, approval.Pending lists it",
			"cd-perm-013":  socket + "the answer is in the log",
			"cd-perm-014":  socket + "the agent denies when a question expires",
			"cd-perm-018":  socket + "approval.Question.About caps what is shown",
			"xx-005":       "what a container can see is the sandbox's answer, not a guard's",
		})
}

// caseSetup has the forms in which the cases describe their setup.
type caseSetup struct {
	Chain     []string `json:"chain decisions in order"`
	Path      *lists   `json:"path policy"`
	Read      *lists   `json:"read"`
	Write     *lists   `json:"write"`
	Forbidden []string `json:"forbidden globs"`
	Jail      bool     `json:"jail"`
	Cwd       string   `json:"cwd"`
	Tool      string   `json:"tool"`
	Approve   []string `json:"approve commands"`
	Decided   string   `json:"session decision for"`
	Allowed   string   `json:"session allow"`
	Rule      string   `json:"session rule"`
	RuleFor   string   `json:"session rule for"`
	Regexp    string   `json:"invalid regex in deny-commands"`
	State     string   `json:"state"`
	Mode      string   `json:"mode"`
	Message   string   `json:"message"`
	Run       string   `json:"run"`
}

type lists struct {
	Allow, Deny []string
	Default     policy.Effect
}

type expect struct {
	Decision  string
	Decisions []string
	Name      string
	Reply     json.RawMessage
	Default   string
	Version   string
}

func setupOf(t *testing.T, c corpus.Case) caseSetup {
	g, _, _, _ := unpack(t, c) //nolint:dogsled // only the scene
	return g
}

func unpack(t *testing.T, c corpus.Case) (g caseSetup, when []string, e expect, all map[string]any) {
	c.Decode(t, c.Setup(), &g)
	c.Decode(t, c.Action(), &when)
	_ = json.Unmarshal(c.Expect(), &e) // what has another type is in all
	c.Decode(t, c.Expect(), &all)
	if g.Cwd == "" {
		g.Cwd = "/p"
	}
	return g, when, e, all
}

// newCaseGuards builds guards for a setup.
func newCaseGuards(t *testing.T, g caseSetup) *policy.Guards {
	t.Helper()
	c := policy.Config{Folders: []string{g.Cwd}}
	for name, l := range map[string]*lists{"read": g.Read, "write": g.Write} {
		if l == nil {
			continue
		}
		rules := policy.PathRules{Allow: l.Allow, Deny: l.Deny, Default: l.Default, Cwd: g.Cwd}
		var p policy.Policy
		var err error
		if name == "read" {
			p, err = rules.ReadPolicy()
		} else {
			p, err = rules.WritePolicy()
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Policies = append(c.Policies, policy.NamedPolicy{Name: name + "-path-policy", Policy: p})
	}
	if len(g.Forbidden) > 0 {
		f, err := policy.PathRules{Deny: g.Forbidden, Cwd: g.Cwd, Home: "/home/me"}.ForbidPolicy()
		if err != nil {
			t.Fatal(err)
		}
		c.Limits = append(c.Limits, policy.NamedPolicy{Name: "forbidden-globs", Policy: f})
	}
	if g.Jail {
		for name, compile := range map[string]func(policy.PathRules) (policy.Policy, error){
			"jail-read":  func(r policy.PathRules) (policy.Policy, error) { return r.ReadPolicy() },
			"jail-write": func(r policy.PathRules) (policy.Policy, error) { return r.WritePolicy() },
		} {
			p, err := compile(policy.PathRules{Allow: []string{"**"}, Default: policy.Deny, Cwd: g.Cwd})
			if err != nil {
				t.Fatal(err)
			}
			c.Limits = append(c.Limits, policy.NamedPolicy{Name: name, Policy: p})
		}
	}
	if len(g.Approve) > 0 {
		var list []string
		for _, word := range g.Approve {
			list = append(list, "ask Bash(* "+word+"*)")
		}
		c.Rules = rulesOf(t, list...)
	}
	return running(t, c)
}

var step = regexp.MustCompile(`^(?:(read|write|access) )?(.+?)(?: again)?(?: -> (?:user answers )?(allow|deny|allow-session|deny-session))?$`)

// request reads "write a.txt", "read link -> /etc" and "git push".
func request(g caseSetup, text string) (r policy.Request, answer string) {
	m := step.FindStringSubmatch(text)
	verb, what, answer := m[1], m[2], m[3]
	if _, target, ok := strings.Cut(what, " -> "); ok { // a link: requests are about what it leads to
		what = target
	}
	if !path.IsAbs(what) {
		what = path.Join(g.Cwd, what)
	}
	switch {
	case g.Tool == "run_command":
		return policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: strings.TrimSpace(m[2]), Cwd: g.Cwd}, answer
	case verb == "write":
		return policy.Request{Tool: "Write", Operation: policy.OpWrite, Resource: what}, answer
	}
	return policy.Request{Tool: "Read", Operation: policy.OpRead, Resource: what}, answer
}

// remember adds a grant for the session.
func remember(r policy.Request, answer string) (policy.Change, bool) {
	g := policy.Grant{Effect: policy.Effect(strings.TrimSuffix(answer, "-session")), Tool: r.Tool, Operation: r.Operation, Resource: r.Resource, Cwd: r.Cwd}
	return policy.Change{Grant: &g}, strings.HasSuffix(answer, "-session")
}

func guardCase(t *testing.T, c corpus.Case) {
	g, when, e, all := unpack(t, c)
	switch {
	case g.Chain != nil:
		chainCase(t, g.Chain, e.Decision)
	case g.Path != nil:
		pathCase(t, g, when, e.Decisions)
	case g.Forbidden != nil:
		guards := newCaseGuards(t, g)
		for i, w := range when {
			r, _ := request(g, w)
			if d := judge(guards, r); (d.Effect == policy.Deny) != (e.Decisions[i] == "deny") {
				t.Errorf("%s: %s by %s, want %s", w, d.Effect, d.By, e.Decisions[i])
			}
		}
	case g.Jail:
		guards := newCaseGuards(t, g)
		for _, w := range when {
			r, _ := request(g, w)
			if d := judge(guards, r); d.Effect != policy.Deny || !strings.HasPrefix(d.By, "jail") {
				t.Errorf("%s: %s by %s", w, d.Effect, d.By)
			}
		}
	case g.Write != nil || g.Read != nil || g.Approve != nil:
		answersCase(t, g, when, all)
	case g.Decided != "":
		guards := newCaseGuards(t, g)
		for _, w := range []string{"write " + g.Decided, "write " + strings.TrimPrefix(when[0], "session decision for ")} {
			r, _ := request(g, w)
			ch, _ := remember(r, "allow-session")
			apply(t, guards, ch)
		}
		if list := guards.Grants(); len(list) != 2 || list[0].ID == list[1].ID || list[0].Name != list[1].Name {
			t.Errorf("%+v", list)
		}
	case g.Allowed != "":
		words := strings.Fields(strings.TrimSuffix(g.Allowed, " (listed)"))
		guards := newCaseGuards(t, g)
		r, _ := request(g, "write "+words[len(words)-1])
		ch, _ := remember(r, "allow-session")
		apply(t, guards, ch)
		r, _ = request(g, when[0])
		if d := judge(guards, r); (d.Effect == policy.Ask) != strings.HasPrefix(e.Decision, "asked") {
			t.Errorf("%s by %s, want %s", d.Effect, d.By, e.Decision)
		}
	case g.RuleFor != "":
		guards := newCaseGuards(t, g)
		r, _ := request(g, g.RuleFor)
		ch, _ := remember(r, "allow-session")
		if got := apply(t, guards, ch).Grant.Name; got != e.Name || guards.Guard(r.Tool).Chain().Links[1].Name != e.Name {
			t.Errorf("%q, want %q", got, e.Name)
		}
	case g.Regexp != "":
		if _, err := (policy.CommandLists{Deny: []string{g.Regexp}}).Policy(); err == nil {
			t.Errorf("%q was taken", g.Regexp)
		}
	case strings.Contains(g.State, "MCP"):
		guards := newGuards(t, policy.Config{CanUseTool: func(context.Context, policy.Request) (policy.Verdict, error) {
			return policy.Verdict{Effect: policy.Deny, Reason: "seen"}, nil
		}})
		for _, tool := range []string{"mcp__srv__tool", "WebFetch"} {
			if d := judge(guards, callOf(tool, "", false)); d.Reason != "seen" {
				t.Errorf("%s: %+v", tool, d)
			}
		}
	default:
		t.Fatalf("a shape of which the policy package has no part: %s", c.Setup())
	}
}

// chainCase: a deny wins at any position, then an ask. The original took the first answer, and its
// chain ended with an allow.
func chainCase(t *testing.T, chain []string, want string) {
	var c policy.Config
	for i, s := range chain {
		e := policy.Effect(s)
		if s == "pass" {
			e = policy.NoOpinion
		}
		c.Policies = append(c.Policies, policy.NamedPolicy{Name: string(rune('a' + i)), Policy: say(e)})
	}
	switch {
	case slices.Contains(chain, "deny"):
		want = "deny"
	case slices.Contains(chain, "ask"), !slices.Contains(chain, "allow"):
		want = "ask"
	}
	if d := judge(newGuards(t, c), edit("/p/a")); string(d.Effect) != want {
		t.Errorf("%v: %s by %s, want %s", chain, d.Effect, d.By, want)
	}
}

func pathCase(t *testing.T, g caseSetup, when, want []string) {
	rules := policy.PathRules{Allow: g.Path.Allow, Deny: g.Path.Deny, Default: g.Path.Default, Cwd: g.Cwd}
	read, err := rules.ReadPolicy()
	if err != nil {
		t.Fatal(err)
	}
	write, err := rules.WritePolicy()
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range when {
		if i >= len(want) {
			t.Fatalf("%q has no expectation of its own", w)
		}
		expected := policy.Effect(want[i])
		if want[i] == "pass" {
			expected = policy.NoOpinion
		}
		var got policy.Effect
		switch {
		case strings.HasPrefix(w, "read policy"):
			got = read.Evaluate(policy.Request{Tool: "Write", Operation: policy.OpWrite, Resource: "/p/a"}).Effect
		case strings.HasPrefix(w, "write policy"):
			got = write.Evaluate(policy.Request{Tool: "Read", Operation: policy.OpRead, Resource: "/p/a"}).Effect
		case strings.HasPrefix(w, "write"):
			r, _ := request(g, w)
			got = write.Evaluate(r).Effect
		default:
			r, _ := request(g, w)
			got = read.Evaluate(r).Effect
		}
		if got != expected {
			t.Errorf("%s: %s, want %s", w, got, want[i])
		}
	}
}

// answersCase runs accesses and answers, and counts approval requests and changes.
func answersCase(t *testing.T, g caseSetup, when []string, want map[string]any) {
	guards := newCaseGuards(t, g)
	asks, changes := 0, 0
	seen := map[string]int{}
	for i, w := range when {
		if strings.HasPrefix(w, "update_policy") {
			for _, p := range patches(w) {
				apply(t, guards, policy.Change{Patch: &p})
				changes++
			}
			continue
		}
		if g.Tool != "run_command" && !access.MatchString(w) {
			t.Fatalf("a step of which the policy package has no part: %s", w)
		}
		r, answer := request(g, w)
		before := guards.Guard(r.Tool).Chain()
		d := judge(guards, r)
		if seen[r.Resource]++; d.Effect == policy.Ask {
			asks++
		}
		if ch, ok := remember(r, answer); ok && d.Effect == policy.Ask {
			apply(t, guards, ch)
			changes++
		} else if after := guards.Guard(r.Tool).Chain(); after.Version != before.Version || len(after.Links) != len(before.Links) {
			t.Errorf("%s: the chain changed from %+v to %+v", w, before, after)
		}
		for key, v := range want {
			text, _ := v.(string)
			if key == w || key == "decision" && i == len(when)-1 || key == "second" && (i == 1 || seen[r.Resource] == 2) || key == r.Resource && seen[key] == 1 || key == r.Resource+" second time" && seen[r.Resource] == 2 {
				checkWord(t, w, d, text)
			}
		}
	}
	for key, v := range want {
		n, isNumber := v.(float64)
		text, _ := v.(string)
		switch {
		case key == "asks" && isNumber && asks != int(n):
			t.Errorf("asked %d times, want %v", asks, n)
		case key == "policy_updated events" && isNumber && changes != int(n):
			t.Errorf("%d changes, want %v", changes, n)
		case strings.HasPrefix(key, "next "):
			r, _ := request(g, strings.Replace(strings.TrimPrefix(key, "next "), " of ", " ", 1))
			checkWord(t, key, judge(guards, r), text)
		}
	}
}

// checkWord compares a decision with the words of a case: "asked again", "allowed", "deny without
// asking".
func checkWord(t *testing.T, when string, d policy.Decision, word string) {
	t.Helper()
	for prefix, e := range map[string]policy.Effect{"ask": policy.Ask, "allow": policy.Allow, "den": policy.Deny} {
		if strings.HasPrefix(word, prefix) && d.Effect != e {
			t.Errorf("%s: %s by %s because %s, want %s", when, d.Effect, d.By, d.Reason, word)
		}
	}
}

var (
	access     = regexp.MustCompile(`^(read|write|access) \S`)
	listOf     = regexp.MustCompile(`(allow|deny)"?:? ?\[([^\]]*)\]`)
	defaultOf  = regexp.MustCompile(`default"?:? "?(allow|deny|ask)`)
	dimension  = regexp.MustCompile(`\b(read|write)\b`)
	validation = "VALIDATION_ERROR"
)
