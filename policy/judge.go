package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// The names of links that are not policies.
const (
	grantsName   = "grants"
	callbackName = "canUseTool"
	rulesName    = "rules"
	folderName   = "own folder"
)

// maxRounds is the maximum number of inputs of one call that are evaluated: the first input and its
// replacements.
const maxRounds = 4

// judge decides about the call's requests. If a policy changes the input, judge decides again about
// the requests of the new input.
func (g *Guard) judge(ctx context.Context, requests []Request, remake func(json.RawMessage) ([]Request, error), hooks []Contribution) (d Decision) {
	v := g.guards.view(g.tool)
	v.hooks = hooks
	if g.without != "" {
		v.grants = slices.DeleteFunc(slices.Clone(v.grants), func(o *grant) bool { return o.ID == g.without })
	}
	fresh := func() Decision {
		return Decision{Agent: g.guards.agent, Tool: g.tool, Mode: v.mode, Version: v.version}
	}
	defer func() {
		if p := recover(); p != nil {
			d = fresh()
			d.refuse("guard", fmt.Sprintf("evaluating the policy panicked: %v", p))
			d.Digests = digests(requests)
		}
	}()
	var input json.RawMessage
	var before []Contribution // contributions of earlier rounds that replaced an input
	for round := 1; ; round++ {
		d = fresh()
		d.Input, d.Contributions = input, before
		next := g.round(ctx, &v, &d, requests)
		if next.input == nil || d.Effect == Deny {
			return d
		}
		switch {
		case remake == nil:
			d.refuse(next.by, next.by+" changed the input in a way that cannot be evaluated")
		case round == maxRounds:
			d.refuse(next.by, fmt.Sprintf("the input still changed after %d rounds", maxRounds))
		default:
			made, err := remake(next.input)
			if err == nil {
				requests, input, before = made, next.input, append(slices.Clip(before), next.verdict)
				v.hooks = withoutAllows(v.hooks)
				continue
			}
			d.refuse(next.by, fmt.Sprintf("%s returned an input that the tool rejects: %v", next.by, err))
		}
		return d
	}
}

// withoutAllows returns the hook results for a call whose input was replaced. It removes every
// allow, because an allow applies only to the input that the hook saw.
func withoutAllows(hooks []Contribution) []Contribution {
	hooks = slices.Clone(hooks)
	for i := range hooks {
		if h := &hooks[i]; h.Effect == Allow {
			h.Verdict = Verdict{Reason: strings.TrimPrefix(h.Reason+"; its allow was for another input", "; ")}
		}
	}
	return hooks
}

// replaced is a new input for the call, and the policy that provided it.
type replaced struct {
	input   json.RawMessage
	by      string
	verdict Contribution
}

// round decides about the requests that result from one input. The strictest outcome becomes the
// outcome of the call.
func (g *Guard) round(ctx context.Context, v *decisionInput, d *Decision, requests []Request) (next replaced) {
	if len(requests) == 0 {
		requests = []Request{{Agent: g.guards.agent, Tool: g.tool}}
	}
	src := g.guards.run
	list := make([]Contribution, len(d.Contributions), len(d.Contributions)+len(requests)*(len(src.limits)+len(v.policies)+4))
	copy(list, d.Contributions)
	d.Contributions, d.Digests = list, digests(requests)
	for i := range requests {
		r := requests[i]
		r.Mode = v.mode
		if r.Tool == "" {
			r.Tool = g.tool
		}
		b := verdictSet{decision: d, several: len(requests) > 1, input: r.Input, resource: r.Resource}
		switch {
		case !knownOperation(r.Operation):
			b.add(rankDeny, "guard", denied("unknown operation %q", r.Operation), "")
		case r.Tool != g.tool:
			b.add(rankDeny, "guard", denied("the request is for tool %q, but the guard is for %q", r.Tool, g.tool), "")
		default:
			g.poll(ctx, v, &b, src.env.viewOf(r))
		}
		b.close(v)
		if next.input == nil {
			next = b.next
		}
		if i == 0 || effectOrder(b.deciding.Effect) > effectOrder(d.Effect) {
			b.decide()
		}
	}
	return next
}

// poll evaluates every link for one request.
func (g *Guard) poll(ctx context.Context, v *decisionInput, b *verdictSet, s *requestView) {
	src := g.guards.run
	kind := src.env.kind(s)
	own := g.guards.owns(s) && kind.kind != kindSecret
	for _, n := range src.limits {
		verdict := src.evaluatePolicy(ctx, n, s)
		if own && n.Name == protectedName && verdict.Effect == Ask {
			verdict = Verdict{Reason: "it is in the agent's private folder"}
		}
		b.limit(n.Name, verdict)
	}
	for _, l := range v.limits {
		b.limit(l.Name, l.judge(s))
	}
	b.askOutside(s)
	b.askPerson(s)
	b.askSandbox(s)
	b.grants(v.grants, s, v, kind.kind)
	for _, l := range v.limits {
		if verdict, ok := l.allows(s); ok {
			b.addWeakAllow(verdict, "", v, kind.kind)
		}
	}
	if own {
		b.addWeakAllow(Contribution{Policy: folderName, Verdict: Verdict{Effect: Allow, Reason: "it is in the agent's private folder"}}, "", v, kind.kind)
	}
	for _, h := range v.hooks {
		b.hook(h, v, kind.kind)
	}
	auto := src.autoAllow(s)
	if v.callback != nil {
		switch {
		case b.denied():
			b.note(callbackName, "not evaluated: "+b.by+" denied the call")
		case auto:
			b.note(callbackName, "not evaluated: the command runs in the sandbox (autoAllowBashIfSandboxed)")
		default:
			b.opinion(callbackName, src.callbacks.callback(ctx, v.callback, s.Request))
		}
	}
	for _, n := range v.policies {
		if _, own := n.Policy.(builtinPolicy); !own && b.denied() {
			b.note(n.Name, "not evaluated: "+b.by+" denied the call")
			continue
		}
		switch verdict := src.evaluatePolicy(ctx, n, s); n.Policy.(type) {
		case *readPaths, *writePaths: // path lists are treated like rules: in plan mode, they allow no more than rules do
			b.rules(n.Name, verdict, v, kind.kind)
		default:
			b.opinion(n.Name, verdict)
		}
	}
	if src.rules != nil {
		verdict := src.env.evaluateRules(src.rules, s, v)
		if isToolWideAllow(s, verdict) {
			verdict = Verdict{Reason: verdict.Reason + "; to allow a connection out of the sandbox, a rule must name the host"}
		}
		b.rules(rulesName, verdict, v, kind.kind)
	}
	if auto {
		b.allowConfined(src, v, kind.kind)
	}
	_, mode := v.decide(kind.kind)
	b.mode = Contribution{Policy: mode.link(), Verdict: mode.judge(s, kind)}
	b.add(rankMode, b.mode.Policy, b.mode.Verdict, "")
}

// evaluateRules evaluates the rules. If they permit every command of a line but not every path that
// it touches, the mode may permit the remaining paths. For example, acceptEdits permits the file
// that the output is written to.
func (w *environment) evaluateRules(rules *Rules, s *requestView, v *decisionInput) Verdict {
	result := rules.evaluate(s)
	if result.Effect != NoOpinion || result.by == nil {
		return result.Verdict
	}
	for i := range result.open {
		p := &result.open[i]
		allows := func(in, out actionKind) bool {
			e, _ := v.decide(w.pathKind(p, in, out))
			return e == Allow
		}
		if p.access&shellparse.Exec != 0 || p.access&shellparse.Write != 0 && !allows(kindEdit, kindEditOutside) ||
			p.access&shellparse.Read != 0 && !allows(kindRead, kindReadOutside) {
			return Verdict{Reason: result.by.sentence("allows the command but not the path it accesses: " + pathText(p.path))}
		}
	}
	out := result.by.allowRuling().Verdict
	out.Reason += ", and mode " + string(v.mode) + " allows the paths it accesses"
	return out
}

func (w *environment) pathKind(p *requestPath, in, out actionKind) actionKind {
	secrets := &loadProtected().secrets
	switch {
	case !w.contains(p):
		return out
	case in == kindRead && (secrets.has(p.path) || secrets.has(p.real)):
		return kindSecret
	}
	return in
}

// evaluatePolicy evaluates a policy. A policy of this package and a [lineEvaluator] are called
// directly. A policy of the host is called with a time limit.
func (src *runGuards) evaluatePolicy(ctx context.Context, n NamedPolicy, s *requestView) Verdict {
	if p, ok := n.Policy.(builtinPolicy); ok {
		return denyInvalid(n.Name, p.judge(s))
	}
	if p, ok := n.Policy.(lineEvaluator); ok && s.reading != nil {
		return denyInvalid(n.Name, p.EvaluateLine(s.Request, s.reading, &s.read))
	}
	return src.callbacks.policy(ctx, n, s.Request)
}

// refuse makes the decision a deny.
func (d *Decision) refuse(by, reason string) {
	d.Effect, d.By, d.Reason = Deny, by, reason
	d.Rule, d.Grant, d.AskReason, d.Input = nil, "", "", nil
	d.Contributions = append(d.Contributions, Contribution{Policy: by, Verdict: Verdict{Effect: Deny, Reason: reason}})
}

func digests(requests []Request) []string {
	list := make([]string, len(requests))
	for i := range requests {
		list[i] = requests[i].Digest()
	}
	return list
}

// effectOrder returns the rank of an effect: deny overrides ask, and ask overrides allow.
func effectOrder(e Effect) int {
	switch e {
	case Allow:
		return 1
	case Ask:
		return 2
	case Deny:
		return 3
	case NoOpinion:
	}
	return 0
}
