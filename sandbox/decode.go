package sandbox

import (
	"bytes"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// Decode reads settings from JSON and replaces the content of s. An unknown field, a duplicate
// field, a value of the wrong type, a null in place of a list, or an entry that can never match is
// an *[Error]. The Open Agent SDK's optional fields (allowedCommands, network, ripgrep,
// ignoreViolations, the ports) may be null, which is the same as leaving them out.
//
// Decode also reads the sandbox block of Claude Code's settings, into the equivalent settings:
// docs/reference/sandbox.md has the table. Fields without an equivalent are rejected.
//
// The settings may still require features that this build does not have, see [Settings.Check].
func (s *Settings) Decode(b []byte) error {
	root, err := jsontree.Parse(b)
	if e, ok := errors.AsType[*jsontree.Error](err); ok {
		if len(bytes.TrimSpace(b)) == 0 {
			e.Hint = "write {} for empty settings"
		}
		return &Error{Offset: e.Offset, Detail: e.What, hint: e.Hint}
	}
	*s = Settings{}
	d := &decoder{setBy: map[string]string{}}
	return d.object(value{Node: &root}, d.settings(s), d.claude(s))
}

func (d *decoder) settings(s *Settings) fields {
	return fields{
		"allowedReadPaths":          d.once("allowedReadPaths", d.list(&s.AllowedReadPaths, checkPathEntry)),
		"allowedWritePaths":         d.list(&s.AllowedWritePaths, checkPathEntry),
		"deniedPaths":               d.once("deniedPaths", d.list(&s.DeniedPaths, checkPathEntry)),
		"deniedCommands":            d.list(&s.DeniedCommands, checkCommandEntry),
		"allowedCommands":           d.optional(d.listPointer(&s.AllowedCommands, checkCommandEntry)),
		"allowNestedSandbox":        d.once("allowNestedSandbox", d.flagPointer(&s.AllowNestedSandbox)),
		"autoAllowBashIfSandboxed":  d.flagPointer(&s.AutoAllowBashIfSandboxed),
		"allowUnsandboxedCommands":  d.flagPointer(&s.AllowUnsandboxedCommands),
		"enableWeakerNestedSandbox": d.flagPointer(&s.EnableWeakerNestedSandbox),
		"ignoreViolations":          d.optional(func(v value) error { return d.violations(v, s) }),
		"network":                   d.optional(func(v value) error { return d.network(v, s) }),
		"ripgrep":                   d.optional(func(v value) error { return d.ripgrep(v, s) }),

		"protectedPaths":       d.once("protectedPaths", d.list(&s.ProtectedPaths, checkPathEntry)),
		"strictProtectedPaths": d.flagPointer(&s.StrictProtectedPaths),
		"additionalWritePaths": d.once("additionalWritePaths", d.list(&s.AdditionalWritePaths, checkPathEntry)),
		"additionalReadPaths":  d.once("additionalReadPaths", d.list(&s.AdditionalReadPaths, checkPathEntry)),
		"excludedCommands":     d.list(&s.ExcludedCommands, checkPrefixEntry),
		"limits":               func(v value) error { return d.limits(v, s) },
		"enabled":              d.flagPointer(&s.Enabled),
	}
}

func (d *decoder) network(v value, s *Settings) error {
	n := &Network{AllowedDomains: []string{}}
	s.Network = n
	return d.object(v, fields{
		"allowedDomains":          d.list(&n.AllowedDomains, checkDomainEntry),
		"deniedDomains":           d.list(&n.DeniedDomains, checkDomainEntry),
		"ask":                     d.once("ask", d.flagPointer(&n.Ask)),
		"allowManagedDomainsOnly": d.flag(&n.AllowManagedDomainsOnly),
		"allowLocalBinding":       d.flagPointer(&n.AllowLocalBinding),
		"allowUnixSockets":        d.flagOrList(&n.AllowUnixSockets),
		"allowAllUnixSockets":     d.flag(&n.AllowAllUnixSockets),
		"httpProxyPort":           d.optional(d.port(&n.HTTPProxyPort)),
		"socksProxyPort":          d.optional(d.port(&n.SOCKSProxyPort)),
	}, d.claudeNetwork(n))
}

func (d *decoder) ripgrep(v value, s *Settings) error {
	r := &Ripgrep{}
	s.Ripgrep = r
	err := d.object(v, fields{
		"command": d.text(&r.Command, checkNotEmpty),
		"args":    d.optional(d.listPointer(&r.Args, checkAnything)),
	})
	if err == nil && r.Command == "" {
		return &Error{Field: v.field, Offset: v.At, Detail: "it has no command", hint: `write {"command": "rg"}`}
	}
	return err
}

func (d *decoder) violations(v value, s *Settings) error {
	s.IgnoreViolations = map[string][]string{}
	return d.members(v, func(name string, v value) error {
		if what, hint := checkIgnoreKey(name); what != "" {
			return &Error{Field: v.field, Offset: v.key, Detail: what, hint: hint}
		}
		var list []string
		if err := d.list(&list, checkIgnoreEntry(name))(v); err != nil {
			return err
		}
		s.IgnoreViolations[name] = list
		return nil
	})
}
