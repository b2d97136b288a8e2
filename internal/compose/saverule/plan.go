package saverule

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/savedrule"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

// Plan describes what is written into the settings when an answer is saved.
type Plan struct {
	env    *env.Env
	target Target
	layer  string
	effect policy.Effect
	rule   string
	tree   string   // a path that commands may write to; if set, it is saved instead of a rule
	hosts  []string // hosts that commands may connect to; if set, they are saved instead of a rule
}

// NewPlan determines what saving an answer writes. If the answer has no scope and a rule covers
// exactly the request, it sets the scope to that rule. It writes nothing. The error says why
// nothing can be saved.
func NewPlan(e *env.Env, p Target, q *approval.Request, a *approval.Answer) (*Plan, error) {
	plan := &Plan{env: e, target: p, layer: a.SaveTo, effect: policy.Allow}
	if !a.Decision.Allows() {
		plan.effect = policy.Deny
	}
	hosts := Hosts(q)
	if a.Scope != "" && hosts != nil {
		return nil, outcome.Invalid("a rule cannot contain the address of the host", "omit the scope: the host and its address are saved")
	}
	if a.Scope == "" && q.SandboxOpens() == nil && hosts == nil {
		rules := q.Rules()
		if len(rules) == 0 {
			return nil, outcome.Invalid("this request cannot be expressed as a rule", "set the scope to a rule, such as "+q.Tool)
		}
		a.Scope = rules[0].Rule
	}
	if err := q.Check(*a); err != nil {
		return nil, err
	}
	plan.hosts = hosts
	if r := q.SandboxOpens(); r != nil || hosts != nil {
		if why := notSavable(q, p, a.SaveTo); why != "" || plan.effect == policy.Deny {
			return nil, outcome.Invalid(cmp.Or(why, "a permanent deny cannot be saved in settings"), "answer for the session")
		}
		if r != nil {
			plan.tree = r.Resource
		}
	}
	plan.rule = a.Scope
	_, err := p.File(e, a.SaveTo)
	return plan, err
}

// notSavable returns the reason why settings cannot permanently give the sandbox the access that a
// request needs; "" if they can.
func notSavable(q *approval.Request, p Target, layer string) string {
	switch r := q.SandboxOpens(); {
	case r == nil:
	case r.Operation != policy.OpWrite:
		return "settings cannot allow this permanently"
	case p.Inside && layer == layernames.User:
		return "the path is inside the container, but your user settings also apply to this machine"
	}
	return ""
}

// Write saves the answer.
func (p *Plan) Write() (*savedrule.Result, error) {
	if p.tree != "" {
		w, err := WritePath(p.env, p.target, p.layer, p.tree)
		if err != nil {
			return nil, err
		}
		k := p.result(&w, pathText(p.tree, &w))
		k.Path = p.tree
		return k, nil
	}
	if len(p.hosts) > 0 {
		return p.writeHosts()
	}
	k, err := WriteRule(p.env, p.target, p.layer, p.effect, p.rule)
	if err != nil {
		return nil, err
	}
	out := p.result(&k.Result, k.String())
	out.Rule = p.rule
	return out, nil
}

// writeHosts saves the host that commands may connect to, and its private address.
func (p *Plan) writeHosts() (*savedrule.Result, error) {
	var w Result
	for i, host := range p.hosts {
		one, err := AddText(p.env, p.target, p.layer, settings.AllowedDomains, host)
		if err != nil {
			return nil, err
		}
		one.Changed = one.Changed || i > 0 && w.Changed
		w = one
	}
	k := p.result(&w, "commands may connect to "+strings.Join(p.hosts, " at ")+" "+w.Location())
	k.Hosts = p.hosts
	return k, nil
}

func (p *Plan) result(w *Result, text string) *savedrule.Result {
	if !w.Counts {
		text += "; " + NotTrusted
	}
	return &savedrule.Result{Effect: p.effect, Layer: w.Layer, File: w.File, Line: w.Line, Changed: w.Changed, Counts: w.Counts, Text: text}
}

// Hosts returns the entries to save if the user lets commands connect to a host with a private
// address: the host and the address, since a rule for the host alone would allow any address that
// the name resolves to later. Nil for other requests.
func Hosts(q *approval.Request) []string {
	if len(q.Requests) != 1 || q.Requests[0].Address == "" {
		return nil
	}
	r := q.Requests[0]
	host, port, err := net.SplitHostPort(r.Resource)
	if err != nil {
		host = r.Resource
	}
	address := r.Address
	if port != "" {
		address = net.JoinHostPort(address, port)
	}
	if n, err := strconv.Atoi(port); err == nil && n < 1024 && n != 80 && n != 443 { // an entry without the port does not allow this port
		host = r.Resource
	}
	return []string{host, address}
}

// Preview returns what can be saved when a request is answered, and in which layers; nil if every
// answer applies only to the call.
func Preview(e *env.Env, p Target, q *approval.Request) *savedrule.Preview {
	if q.OnceOnly() {
		return nil
	}
	out := &savedrule.Preview{Rules: q.Rules()}
	if r := q.SandboxOpens(); r != nil {
		out.Rules, out.Path = nil, r.Resource
	}
	if hosts := Hosts(q); hosts != nil {
		out.Rules, out.Hosts = nil, hosts
	}
	var why []string
	for _, layer := range Layers {
		if no := notSavable(q, p, layer); no != "" {
			why = append(why, no)
			continue
		}
		file, err := p.File(e, layer)
		if err != nil {
			why = append(why, err.Error())
			continue
		}
		out.Files = append(out.Files, savedrule.File{Layer: layer, File: file})
	}
	out.Refused = strings.Join(slices.Compact(why), "; ")
	return out
}
