package sandbox

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path"
	"slices"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
	"github.com/holdfast-dev/holdfast/internal/shellparse"
	"github.com/holdfast-dev/holdfast/policy"
)

// Options adjusts [NewChecker].
type Options struct {
	Home string            // for "~"; default the user's home folder
	Dir  string            // the folder of the settings file: relative paths in the settings are relative to it
	Vars map[string]string // variables with known values, for commands

	// Origin is where the settings were written; decisions repeat it. Its layer matters when several
	// layers are joined, see [Open].
	Origin policy.Origin
	// Trusted is true if the user trusts the folder that contains the settings (the layers local
	// and project). Settings of an untrusted folder can restrict but not loosen. All other layers
	// are always trusted.
	Trusted bool
	// Log receives each denial as "sandbox_denial" at level info, with type, value and reason (the
	// Open Agent SDK's names). Nil: nothing is logged.
	Log *slog.Logger
}

// Checker compares paths, commands and hosts with settings. It is safe for concurrent use. It is a
// [policy.Policy] for the limits of a guard: it denies, asks or has no opinion. It reads symbolic
// links in the file system and nothing else.
type Checker struct {
	home      string
	vars      map[string]string
	origin    policy.Origin
	untrusted bool
	log       *slog.Logger
	settings  Settings // its source

	denied, read, write []tree
	protected           []tree
	additional          []tree    // see [Open]; adds only
	readMore            []tree    // like additional
	deniedPrograms      *programs // nil: none are denied
	allowedPrograms     *programs // nil means that all programs except the denied ones are allowed
	noCommands          bool      // true if the list of allowed commands is empty
	net                 *network  // nil: every host
	excluded            []prefix
	ignored             []ignoreRule
}

// NewChecker checks the settings and compiles them. If a setting cannot work, it returns an
// *[Error]. This includes a setting that this build cannot enforce because it has no kernel
// sandbox: no setting is silently ignored. Settings that are not enabled are checked but restrict
// nothing. Symbolic links in configured paths are resolved now. NewChecker does not keep the
// settings or options.
func NewChecker(s *Settings, o *Options) (*Checker, error) {
	if s == nil {
		s = &Settings{}
	}
	if o == nil {
		o = &Options{}
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	c := &Checker{home: o.Home, vars: maps.Clone(o.Vars), origin: o.Origin, log: o.Log, settings: s.clone()}
	c.untrusted = !o.Trusted && (o.Origin.Layer == layernames.Local || o.Origin.Layer == layernames.Project)
	if c.home == "" {
		c.home, _ = os.UserHomeDir() // without a home folder, "~" cannot be used
	}
	if err := c.compile(&c.settings, o.Dir); err != nil {
		return nil, err
	}
	if s.Enabled != nil && !*s.Enabled {
		off := Settings{Enabled: new(false)}
		return &Checker{home: c.home, vars: c.vars, origin: c.origin, untrusted: c.untrusted, log: c.log, settings: off}, nil
	}
	return c, nil
}

func (c *Checker) compile(s *Settings, dir string) error {
	for _, l := range []struct {
		field string
		list  []string
		into  *[]tree
	}{
		{fieldDeniedPaths, s.DeniedPaths, &c.denied},
		{fieldReadPaths, s.AllowedReadPaths, &c.read},
		{fieldWritePaths, s.AllowedWritePaths, &c.write},
		{fieldProtectedPaths, s.ProtectedPaths, &c.protected},
		{fieldAdditional, s.AdditionalWritePaths, &c.additional},
		{fieldReadMore, s.AdditionalReadPaths, &c.readMore},
	} {
		var err error
		if *l.into, err = compileTrees(l.field, l.list, dir, c.home); err != nil {
			return err
		}
	}
	err := c.checkAdditional()
	if err == nil {
		err = c.compileCommands(s, dir)
	}
	if err == nil {
		c.excluded, err = compilePrefixes(fieldExcluded, s.ExcludedCommands, dir, c.home)
	}
	if err == nil {
		c.ignored, err = compileIgnores(s, dir, c.home)
	}
	if err == nil {
		c.net, err = compileNetwork(s.Network)
	}
	if err == nil {
		err = s.Limits.check()
	}
	return err
}

// checkAdditional rejects additional write paths that allowedWritePaths of the same settings excludes.
func (c *Checker) checkAdditional() error {
	for i := range c.additional {
		t := &c.additional[i]
		if len(c.write) > 0 && !slices.ContainsFunc(c.write, func(w tree) bool { return within(t.resolved, w.resolved) }) {
			return &Error{
				Field: fmt.Sprintf("%s[%d]", fieldAdditional, i), Detail: fmt.Sprintf("%q is outside allowedWritePaths", t.entry),
				hint: "add it to allowedWritePaths, or remove allowedWritePaths",
			}
		}
	}
	return nil
}

func (c *Checker) compileCommands(s *Settings, dir string) error {
	denied, err := compilePrograms(fieldDeniedCommands, s.DeniedCommands, dir, c.home)
	if err != nil {
		return err
	}
	if s.AllowedCommands != nil {
		c.allowedPrograms, err = compilePrograms(fieldAllowedCommands, *s.AllowedCommands, dir, c.home)
		c.noCommands = len(*s.AllowedCommands) == 0
		return err
	}
	if len(s.DeniedCommands) > 0 {
		c.deniedPrograms = denied
	}
	return nil
}

// CheckPath returns nil or a *[Denial]. The operation is [policy.OpRead] or [policy.OpWrite]. The path
// may be relative to cwd, start with "~", contain dots and pass through symbolic links; a missing
// component keeps its name. A path that cannot be resolved is denied if any list of paths is set.
func (c *Checker) CheckPath(p, cwd string, op policy.Operation) error {
	if d := c.checkPath(p, cwd, op); d != nil {
		return c.deny(d)
	}
	return nil
}

// IsPathAllowed reports whether CheckPath returns nil.
func (c *Checker) IsPathAllowed(path, cwd string, op policy.Operation) bool {
	return c.checkPath(path, cwd, op) == nil
}

func (c *Checker) checkPath(p, cwd string, op policy.Operation) *Denial {
	tool, field, list := "Read", fieldReadPaths, c.read
	switch op {
	case policy.OpRead:
	case policy.OpWrite:
		tool, field, list = "Write", fieldWritePaths, c.write
	default:
		return &Denial{Tool: tool, Subject: p, Reason: fmt.Sprintf("unknown path operation %q", op), kind: kindUnclear}
	}
	write := op == policy.OpWrite
	if !c.restricts(list, write) {
		return nil
	}
	d := pathDenial(tool, p, op)
	d.Setting = c.restrictingSetting(field, list)
	if p == "" {
		return d
	}
	full, err := realpath.Absolute(p, cwd, c.home)
	if err == nil {
		d.Path, err = realpath.Resolve(full)
	}
	if err != nil {
		d.Reason += ": " + err.Error()
		d.kind = kindUnclear
		return d
	}
	return c.compare(d, subject{literal: path.Clean(full), resolved: d.Path, write: write}, field, list)
}

// restricts reports whether any setting restricts a path. The parameter list contains the trees to
// which the operation is limited.
func (c *Checker) restricts(list []tree, write bool) bool {
	return len(c.denied)+len(list) > 0 || write && len(c.protected) > 0
}

// restrictingSetting returns the name of the setting because of which a path that cannot be resolved is
// denied.
func (c *Checker) restrictingSetting(field string, list []tree) string {
	switch {
	case len(list) > 0:
		return field
	case len(c.denied) > 0:
		return fieldDeniedPaths
	}
	return fieldProtectedPaths
}

// subject is a path to check: as written, and with symbolic links resolved.
type subject struct {
	literal, resolved string
	write             bool     // true if the command would write, create, move or remove the path
	tree              bool     // true if everything below the path is included
	pattern           []string // if not nil, only the paths below it that match this pattern are included; one entry per component
}

// reaches reports whether the tree t is below the subject, in a part that the command would also touch.
func (s *subject) reaches(t *tree) bool {
	for _, root := range [2]string{s.literal, s.resolved} {
		for _, denied := range [2]string{t.literal, t.resolved} {
			if within(denied, root) && (s.pattern == nil || mayMatch(s.pattern, parts(denied[len(root):]))) {
				return true
			}
		}
	}
	return false
}

// firstMatch returns the first tree that the subject touches, or nil.
func (s *subject) firstMatch(list []tree) *tree {
	for i := range list {
		t := &list[i]
		if t.covers(s.literal) || t.covers(s.resolved) || s.tree && s.reaches(t) {
			return t
		}
	}
	return nil
}

// compare completes the denial of a path, or returns nil. The path itself and its resolved target
// must be outside the denied paths and, for a write, also outside the protected paths. If list is
// not empty, the target must be inside one of its trees.
func (c *Checker) compare(d *Denial, s subject, field string, list []tree) *Denial {
	if t := s.firstMatch(c.denied); t != nil {
		d.Setting, d.Rule = fieldDeniedPaths, t.entry
		return d
	}
	if t := s.firstMatch(c.protected); t != nil && s.write {
		d.Setting, d.Rule, d.kind = fieldProtectedPaths, t.entry, kindWrite
		d.Reason = "path '" + d.Subject + "' is protected: it can be read but not changed"
		return d
	}
	if len(list) == 0 {
		return nil
	}
	for i := range list {
		if within(s.resolved, list[i].resolved) {
			return nil
		}
	}
	d.Setting = field
	return d
}

// CheckCommand returns nil or a *[Denial] for a command line that would start in cwd. If there is any
// restriction, a line that cannot be parsed is denied.
func (c *Checker) CheckCommand(line, cwd string) error {
	if d := c.checkCommand(line, cwd, false); d != nil {
		return c.deny(d)
	}
	return nil
}

// CheckConfined is CheckCommand for a command that runs in a [Sandbox], where localhost is private to
// the command: the command may connect to it unless allowLocalBinding is false. Without a kernel
// sandbox, CheckConfined is the same as CheckCommand.
func (c *Checker) CheckConfined(line, cwd string) error {
	if d := c.checkCommand(line, cwd, hasKernelSandbox); d != nil {
		return c.deny(d)
	}
	return nil
}

// IsCommandAllowed reports whether CheckCommand returns nil.
func (c *Checker) IsCommandAllowed(line, cwd string) bool {
	return c.checkCommand(line, cwd, false) == nil
}

// CheckHost returns nil or a *[Denial] for a connection to a host: a name or an
// address, with or without a port, or a URL.
func (c *Checker) CheckHost(host string) error {
	if d := c.net.check(host, "WebFetch", false); d != nil {
		return c.deny(d)
	}
	return nil
}

// Evaluate denies what the settings forbid, asks about hosts if the settings say so, and has no
// opinion on everything else. The input of a call cannot change this.
func (c *Checker) Evaluate(r policy.Request) policy.Verdict { return c.verdict(r, c.checkRequest(r)) }

// EvaluateLine is Evaluate for a command line that the guard has already parsed.
func (c *Checker) EvaluateLine(r policy.Request, reading *shellparse.Reading, o *shellparse.Options) policy.Verdict {
	if r.Operation == policy.OpExec {
		return c.verdict(r, c.checkExec(r, reading, o))
	}
	return c.verdict(r, c.checkReading(r.Resource, r.Cwd, r.Confined, reading, o))
}

// checkExec checks a program's file and the command line that runs it.
func (c *Checker) checkExec(r policy.Request, reading *shellparse.Reading, o *shellparse.Options) *Denial {
	if d := c.checkPath(r.Resource, r.Cwd, policy.OpRead); d != nil || r.Line == "" {
		return d
	}
	return c.checkReading(r.Line, r.Cwd, r.Confined, reading, o)
}

// verdict turns a denial into a policy verdict. For a host that the user may allow, it requests
// approval, unless the command is confined: then approval is requested when the command connects.
func (c *Checker) verdict(r policy.Request, d *Denial) policy.Verdict {
	if d == nil || d.asks && r.Confined {
		return policy.Verdict{}
	}
	origin := c.origin
	if origin.Rule = d.Setting; d.Rule != "" {
		origin.Rule += ": " + d.Rule
	}
	if d.asks {
		return policy.Verdict{Effect: policy.Ask, Reason: "sandbox: " + d.Reason, Rule: &origin}
	}
	_ = c.deny(d)
	return policy.Verdict{Effect: policy.Deny, Reason: "sandbox: " + d.Reason, Rule: &origin}
}

func (c *Checker) checkRequest(r policy.Request) *Denial {
	switch r.Operation {
	case policy.OpExec:
		return c.checkExec(r, nil, nil)
	case policy.OpRead:
		return c.checkPath(r.Resource, r.Cwd, policy.OpRead)
	case policy.OpWrite:
		return c.checkPath(r.Resource, r.Cwd, policy.OpWrite)
	case policy.OpCommand:
		return c.checkCommand(r.Resource, r.Cwd, r.Confined)
	case policy.OpConnect:
		d := c.net.check(r.Resource, "WebFetch", false)
		if r.Address != "" && (d == nil || d.Setting == fieldDomains) {
			_, port, _ := hostOf(r.Resource)
			d = cmp.Or(c.net.check(net.JoinHostPort(r.Address, strconv.Itoa(port)), "WebFetch", false), d)
		}
		if d != nil && d.kind == kindHost && d.Setting == fieldDomains {
			d.asks = c.net.asks(r.Confined)
		}
		return d
	case policy.OpMCP, policy.OpSecret:
	}
	return nil
}

// deny logs a denial and returns it as an error.
func (c *Checker) deny(d *Denial) error {
	if c.log != nil {
		c.log.Info("sandbox_denial", "type", d.kind, "value", d.Subject, "reason", d.Reason)
	}
	return d
}
