package sandbox

import (
	"context"
	"net"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/registries"
	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/policy"
)

// serve returns two functions. The first serves the listener of a command's network. The second,
// called afterwards, returns the hosts that were refused and, judged by the command's output, those
// that may have required a login. Both are nil if there is no proxy.
func (s *Sandbox) serve(ctx context.Context, args []string) (func(net.Listener), func(output string) []Violation, error) {
	if s.network() != kernel.ProxyNetwork {
		return nil, nil, nil
	}
	proxy, err := newProxy(s.merged(), &egress.Options{Ask: s.ask, KnownHosts: s.registries, Log: s.log})
	if err != nil {
		return nil, nil, err
	}
	session := &egress.Session{ID: strings.Join(args, " ")}
	served := func(l net.Listener) {
		if err := proxy.Serve(ctx, l, session); err != nil && ctx.Err() == nil && s.log != nil {
			s.log.Warn("sandbox: serve the network of a command", "error", err)
		}
	}
	return served, func(output string) []Violation {
		return append(hostViolations(session.Refusals(), s.merged().HostOrigins), s.loginFailures(session.Reached(), output)...)
	}, nil
}

// registries are the hosts of the package registries that the user's configuration names.
func (s *Sandbox) registries() []string {
	var out []string
	for _, r := range registries.Find(&registries.Locations{Home: s.compiler.home}) {
		name, _, _ := strings.Cut(r.Host, ":")
		out = append(out, name)
	}
	return out
}

// newProxy creates the egress proxy of a sandbox.
func newProxy(m *merged, o *egress.Options) (*egress.Proxy, error) {
	rules, err := egress.Compile(m.Hosts...)
	if err != nil {
		return nil, err
	}
	o.HTTPUpstream, o.SOCKSUpstream = m.HTTPProxyPort.Number, m.SOCKSProxyPort.Number
	return egress.New(rules, o)
}

func hostViolations(list []egress.Refusal, origins []policy.Origin) []Violation {
	out := make([]Violation, len(list))
	for i := range list {
		f := &list[i]
		out[i] = Violation{Kind: kindHost, Subject: f.Target(), Op: "connect", Setting: f.Setting, Hint: f.Hint}
		if f.Address != "" {
			out[i].Reason = f.Reason
		}
		switch {
		case f.Setting == "":
			out[i].Hint = f.Reason
		case f.Allow() != nil:
			out[i].Hint = "to allow it: holdfast sandbox allow --host " + strings.Join(f.Allow(), " --host ")
		}
		if f.Layer >= 0 && f.Layer < len(origins) {
			out[i].Origin = origins[f.Layer]
			out[i].Origin.Rule = f.Entry
		}
	}
	return out
}
