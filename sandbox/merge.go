package sandbox

import (
	"cmp"
	"path"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
	"github.com/holdfast-dev/holdfast/internal/shellparse"
	"github.com/holdfast-dev/holdfast/policy"
)

// merged is the combined result of the settings of several layers, for settings whose effect
// depends on several layers. It is immutable.
type merged struct {
	AutoAllow        loosened // autoAllowBashIfSandboxed
	AllowUnsandboxed loosened // allowUnsandboxedCommands
	Weaker           loosened // enableWeakerNestedSandbox
	Nested           loosened // allowNestedSandbox

	// Network is true if commands can reach hosts. Each element of Hosts must then allow a host.
	// HostOrigins are the places where the elements of Hosts were set.
	Network        loosened
	Hosts          []egress.Layer
	HostOrigins    []policy.Origin
	asking         []bool   // for the last elements of Hosts, one for each layer: true if the layer sets ask explicitly
	LocalBinding   loosened // network.allowLocalBinding
	UnixSockets    loosened // network.allowUnixSockets: sockets among the command's own files
	AllUnixSockets loosened // network.allowAllUnixSockets
	HTTPProxyPort  port     // the user's proxy, which receives the allowed connections
	SOCKSProxyPort port

	Limits       Limits                   // the smallest of each
	LimitOrigins map[string]policy.Origin // the layer that set each limit; the keys are names such as "memory"

	// AdditionalWritePaths are the trees that are writable in addition to the workspace, as far as
	// allowedWritePaths of every layer permits.
	AdditionalWritePaths []writeTree

	layers []*Checker
}

// loosened is a setting that allows something.
type loosened struct {
	Set    bool
	Origin policy.Origin // the layer that sets the flag or, if Set is false, the layer that prevents it
}

// port is a port of this machine. 0 means none.
type port struct {
	Number int
	Origin policy.Origin
}

// writeTree is a writable tree.
type writeTree struct {
	Path   string // canonical
	Entry  string // as written
	Origin policy.Origin
}

// mergeCheckers joins layers, the strongest first, as described for [Open]. Layers that are not
// enabled have no effect. The parameter asks is true if an approver is available for hosts.
func mergeCheckers(layers []*Checker, asks bool) *merged {
	m := &merged{LimitOrigins: map[string]policy.Origin{}}
	for _, c := range layers {
		if c != nil && !c.disabled() {
			m.layers = append(m.layers, c)
		}
	}
	m.AutoAllow = m.loosened("autoAllowBashIfSandboxed", func(s *Settings) *bool { return s.AutoAllowBashIfSandboxed })
	m.AllowUnsandboxed = m.loosened("allowUnsandboxedCommands", func(s *Settings) *bool { return s.AllowUnsandboxedCommands })
	m.Weaker = m.loosened("enableWeakerNestedSandbox", func(s *Settings) *bool { return s.EnableWeakerNestedSandbox })
	m.Nested = m.loosened("allowNestedSandbox", func(s *Settings) *bool { return s.AllowNestedSandbox })
	m.mergeNetwork(asks)
	for _, c := range m.layers {
		m.addLimits(c)
		m.addWritePaths(c)
	}
	return m
}

// AutoAllow returns the origin of autoAllowBashIfSandboxed if it is in force, else nil.
func (s *Sandbox) AutoAllow() *policy.Origin {
	auto := s.merged().AutoAllow
	if !auto.Set {
		return nil
	}
	return &auto.Origin
}

// AllowsUnsandboxed reports whether the model may request a run outside the sandbox:
// allowUnsandboxedCommands is in force.
func (s *Sandbox) AllowsUnsandboxed() bool { return s.merged().AllowUnsandboxed.Set }

// Hosts returns the host lists of the layers that have a network block, for connections that a command
// does not make. Each list must allow a host.
func (s *Sandbox) Hosts() []egress.Layer {
	m := s.merged()
	list := slices.Clone(m.Hosts[len(m.Hosts)-len(m.asking):])
	for i := range list {
		list[i].Ask = m.asking[i]
	}
	return list
}

// Loosens returns the fields that allow something. In the settings of an untrusted folder they have
// no effect. network.allowedDomains is one of them, but it also restricts.
func (s *Settings) Loosens() []string {
	n := s.Network
	if n == nil {
		n = &Network{}
	}
	var out []string
	for _, f := range []field{
		{"autoAllowBashIfSandboxed", isTrue(s.AutoAllowBashIfSandboxed)},
		{"allowUnsandboxedCommands", isTrue(s.AllowUnsandboxedCommands)},
		{"enableWeakerNestedSandbox", isTrue(s.EnableWeakerNestedSandbox)},
		{"allowNestedSandbox", isTrue(s.AllowNestedSandbox)},
		{fieldExcluded, len(s.ExcludedCommands) > 0},
		{fieldAdditional, len(s.AdditionalWritePaths) > 0},
		{fieldReadMore, len(s.AdditionalReadPaths) > 0},
		{fieldIgnore, len(s.IgnoreViolations) > 0},
		{fieldDomains, len(n.AllowedDomains) > 0},
		{fieldLocal, isTrue(n.AllowLocalBinding)},
		{fieldUnixSockets, n.AllowUnixSockets},
		{"network.allowAllUnixSockets", n.AllowAllUnixSockets},
		{"network.httpProxyPort", n.HTTPProxyPort != nil},
		{"network.socksProxyPort", n.SOCKSProxyPort != nil},
		{"network.ask", isTrue(n.Ask)},
	} {
		if f.set {
			out = append(out, f.name)
		}
	}
	return out
}

// disabled reports whether the settings turn themselves off.
func (c *Checker) disabled() bool { return c.settings.Enabled != nil && !*c.settings.Enabled }

func (c *Checker) managed() bool { return c.origin.Layer == layernames.Managed }

// at returns where a layer sets a setting.
func (c *Checker) at(setting string) policy.Origin {
	o := c.origin
	o.Rule = setting
	return o
}

func (m *merged) loosened(name string, get func(*Settings) *bool) loosened {
	var out loosened
	var against *Checker
	for _, c := range m.layers {
		switch v := get(&c.settings); {
		case v == nil && c.managed(), v != nil && !*v:
			against = cmp.Or(against, c)
		case v != nil && !out.Set && !c.untrusted:
			out = loosened{Set: true, Origin: c.at(name)}
		}
	}
	return out.unlessPrevented(against, name)
}

// unlessPrevented turns a setting off again if a layer prevents it.
func (l loosened) unlessPrevented(c *Checker, name string) loosened {
	if l.Set && c != nil {
		return loosened{Origin: c.at(name)}
	}
	return l
}

// mergeNetwork joins the network blocks. If an approver is available, there is a network even without
// a trusted block: every host then needs approval.
func (m *merged) mergeNetwork(asks bool) {
	m.Network = m.loosenedNetwork("network", func(*Network) bool { return true })
	m.LocalBinding = m.localBinding()
	m.UnixSockets = m.loosenedNetwork(fieldUnixSockets, func(n *Network) bool { return n.AllowUnixSockets || n.AllowAllUnixSockets })
	m.AllUnixSockets = m.loosenedNetwork("network.allowAllUnixSockets", func(n *Network) bool { return n.AllowAllUnixSockets })
	listsOnly := slices.ContainsFunc(m.layers, func(c *Checker) bool {
		return c.settings.Network != nil && c.settings.Network.AllowManagedDomainsOnly
	})
	if asks && !listsOnly && !m.Network.Set {
		m.Network.Set = true
		m.Hosts, m.HostOrigins = []egress.Layer{{Ask: true}}, []policy.Origin{{}}
	}
	for _, c := range m.layers {
		n := c.settings.Network
		if n == nil {
			continue
		}
		ask := isTrue(n.Ask) || n.Ask == nil && asks
		m.Hosts = append(m.Hosts, egress.Layer{Allow: n.AllowedDomains, Deny: n.DeniedDomains, Ask: ask && !listsOnly})
		m.asking = append(m.asking, isTrue(n.Ask) && !listsOnly)
		m.HostOrigins = append(m.HostOrigins, c.at("network"))
		m.HTTPProxyPort.setIfUnset(c, n.HTTPProxyPort, "network.httpProxyPort")
		m.SOCKSProxyPort.setIfUnset(c, n.SOCKSProxyPort, "network.socksProxyPort")
	}
}

// localBinding reports whether commands have a private localhost on which they can listen. They
// have one unless a layer sets allowLocalBinding to false.
func (m *merged) localBinding() loosened {
	out := loosened{Set: true}
	for _, c := range m.layers {
		if n := c.settings.Network; n != nil && n.AllowLocalBinding != nil {
			if !*n.AllowLocalBinding {
				return loosened{Origin: c.at(fieldLocal)}
			}
			if out.Origin == (policy.Origin{}) && !c.untrusted {
				out.Origin = c.at(fieldLocal)
			}
		}
	}
	return out
}

func (m *merged) loosenedNetwork(name string, get func(*Network) bool) loosened {
	var out loosened
	var against *Checker
	for _, c := range m.layers {
		switch n := c.settings.Network; {
		case n == nil:
		case !get(n):
			against = cmp.Or(against, c)
		case !out.Set && !c.untrusted:
			out = loosened{Set: true, Origin: c.at(name)}
		}
	}
	return out.unlessPrevented(against, name)
}

// hasNetwork reports whether any host is reachable. There must be a network, and each layer must
// list a host or permit approval requests. Without namespaces no connection can wait for an answer,
// so only layers that set ask explicitly permit requests.
func (m *merged) hasNetwork(weaker bool) bool {
	for i, l := range m.Hosts {
		index := i - len(m.Hosts) + len(m.asking)
		ask := l.Ask && (!weaker || index >= 0 && m.asking[index])
		if len(l.Allow) == 0 && !ask {
			return false
		}
	}
	return m.Network.Set
}

// setIfUnset keeps the value of the stronger layer.
func (p *port) setIfUnset(c *Checker, number *int, name string) {
	if p.Number == 0 && number != nil && !c.untrusted {
		*p = port{*number, c.at(name)}
	}
}

func (m *merged) addLimits(c *Checker) {
	if c.settings.Limits == nil {
		return
	}
	before, added := m.Limits, *c.settings.Limits
	m.Limits = before.least(added)
	for _, l := range []struct {
		name string
		set  bool
	}{
		{"cpu", m.Limits.CPU != before.CPU},
		{"memory", m.Limits.Memory != before.Memory},
		{"pids", m.Limits.Pids != before.Pids},
		{"fileSize", m.Limits.FileSize != before.FileSize},
		{"wallTime", m.Limits.WallTime != before.WallTime},
		{"outputBytes", m.Limits.OutputBytes != before.OutputBytes},
	} {
		if l.set {
			m.LimitOrigins[l.name] = c.at("limits." + l.name)
		}
	}
}

// addWritePaths adds the trees that a layer makes writable in addition to the workspace, as far as
// every layer permits this.
func (m *merged) addWritePaths(c *Checker) {
	if c.untrusted {
		return
	}
	for _, t := range c.additional {
		for _, p := range m.permittedParts(t.resolved) {
			if !slices.ContainsFunc(m.AdditionalWritePaths, func(w writeTree) bool { return within(p, w.Path) }) {
				m.AdditionalWritePaths = append(m.AdditionalWritePaths, writeTree{Path: p, Entry: t.entry, Origin: c.at(fieldAdditional)})
			}
		}
	}
}

// permittedParts returns the part of a tree that the layers permit.
func (m *merged) permittedParts(tree string) []string {
	left := []string{tree}
	for _, other := range m.layers {
		switch {
		case len(other.write) > 0:
			left = intersect(left, other.write)
		case other.managed():
			left = intersect(left, other.additional)
		}
	}
	return left
}

// intersect returns the trees that both lists cover. If one tree is inside the other, it returns
// the inner one.
func intersect(list []string, others []tree) []string {
	var out []string
	for _, p := range list {
		for i := range others {
			switch o := others[i].resolved; {
			case within(p, o):
				out = append(out, p)
			case within(o, p):
				out = append(out, o)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Excluded reports whether a command line may run outside the kernel sandbox if the user approves,
// and returns the entry that says so. Every command in the line must match an entry in
// excludedCommands of a trusted layer, and of each managed layer. Builtins that only control the
// shell (cd, test) need no entry, but at least one command must match an entry.
func (s *Sandbox) Excluded(line, cwd string) (policy.Origin, bool) {
	return s.merged().excluded(line, cwd)
}

func (m *merged) excluded(line, cwd string) (policy.Origin, bool) {
	r := m.parse(line, cwd)
	if r == nil || !r.Static() {
		return policy.Origin{}, false
	}
	var by policy.Origin
	for i := range r.Commands {
		cmd := &r.Commands[i]
		if slices.Contains(shellBuiltins, cmd.Name) && cmd.Name == cmd.Program {
			continue
		}
		o, ok := m.excludes(cmd)
		if !ok {
			return policy.Origin{}, false
		}
		by = cmp.Or(by, o)
	}
	return by, by != policy.Origin{}
}

func (m *merged) excludes(cmd *shellparse.Command) (by policy.Origin, ok bool) {
	for _, c := range m.layers {
		entry, matched := matchPrefix(c.excluded, cmd)
		switch {
		case !matched && c.managed():
			return policy.Origin{}, false
		case matched && !ok && !c.untrusted:
			by, ok = c.at(fieldExcluded+": "+entry), true
		}
	}
	return by, ok
}

// ignored reports whether ignoreViolations in a trusted layer makes the report leave out a violation.
// Refusals do not change.
func (m *merged) ignored(v *Violation, line string) bool {
	var r *shellparse.Reading
	for _, c := range m.layers {
		for i := range c.ignored {
			if r == nil {
				r = m.parse(line, "")
			}
			if !c.untrusted && c.ignored[i].matches(v, r) {
				return true
			}
		}
	}
	return false
}

// parse parses a line as the strongest layer does. It returns nil if there is no layer.
func (m *merged) parse(line, cwd string) *shellparse.Reading {
	if len(m.layers) == 0 {
		return nil
	}
	o := shellparse.Options{Home: m.layers[0].home, Vars: m.layers[0].vars}
	if path.IsAbs(cwd) {
		o.Dir = path.Clean(cwd)
	}
	return shellparse.Parse(line, &o)
}
