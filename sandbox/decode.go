package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

// Decode reads settings from JSON. A field that is not known, stands there twice
// or has another type than it should, a null where a list is needed, and an entry
// that can never match are a *[Error]. Seed 000's optional fields
// (allowedCommands, network, ripgrep, ignoreViolations, the ports) may be null,
// which is the same as leaving them out.
//
// The sandbox block of Claude Code's settings is read as well, into the settings
// that say the same: docs/sandbox.md has the table. What has no like here is
// refused.
//
// What it returns may still ask for more than this build can do, see
// [Settings.Check].
func Decode(b []byte) (*Settings, error) {
	if !utf8.Valid(b) {
		return nil, &Error{What: "not UTF-8", hint: "save the file as UTF-8"}
	}
	d := &decoder{source: b, dec: json.NewDecoder(bytes.NewReader(b)), said: map[string]string{}}
	d.dec.UseNumber()
	s := &Settings{}
	if err := d.object("", d.settings(s), d.claude(s)); err != nil {
		return nil, err
	}
	if _, err := d.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &Error{Offset: int(d.dec.InputOffset()), What: "something follows the settings", hint: "keep one object"}
	}
	return s, nil
}

func (d *decoder) settings(s *Settings) fields {
	return fields{
		"allowedReadPaths":          d.once("allowedReadPaths", d.list(&s.AllowedReadPaths, checkPathEntry)),
		"allowedWritePaths":         d.list(&s.AllowedWritePaths, checkPathEntry),
		"deniedPaths":               d.once("deniedPaths", d.list(&s.DeniedPaths, checkPathEntry)),
		"deniedCommands":            d.list(&s.DeniedCommands, checkCommandEntry),
		"allowedCommands":           d.optional(func(f string) error { return d.listPointer(&s.AllowedCommands, checkCommandEntry)(f) }),
		"allowNestedSandbox":        d.once("allowNestedSandbox", d.flagPointer(&s.AllowNestedSandbox)),
		"autoAllowBashIfSandboxed":  d.flagPointer(&s.AutoAllowBashIfSandboxed),
		"allowUnsandboxedCommands":  d.flagPointer(&s.AllowUnsandboxedCommands),
		"enableWeakerNestedSandbox": d.flagPointer(&s.EnableWeakerNestedSandbox),
		"ignoreViolations":          d.optional(func(f string) error { return d.violations(f, s) }),
		"network":                   d.optional(func(f string) error { return d.network(f, s) }),
		"ripgrep":                   d.optional(func(f string) error { return d.ripgrep(f, s) }),

		"protectedPaths":       d.once("protectedPaths", d.list(&s.ProtectedPaths, checkPathEntry)),
		"additionalWritePaths": d.once("additionalWritePaths", d.list(&s.AdditionalWritePaths, checkPathEntry)),
		"excludedCommands":     d.list(&s.ExcludedCommands, checkPrefixEntry),
		"limits":               func(f string) error { return d.limits(f, s) },
		"enabled":              d.flagPointer(&s.Enabled),
	}
}

func (d *decoder) network(field string, s *Settings) error {
	n := &Network{AllowedDomains: []string{}}
	s.Network = n
	return d.object(field, fields{
		"allowedDomains":          d.list(&n.AllowedDomains, checkDomainEntry),
		"deniedDomains":           d.list(&n.DeniedDomains, checkDomainEntry),
		"ask":                     d.once("ask", d.flag(&n.Ask)),
		"allowManagedDomainsOnly": d.flag(&n.AllowManagedDomainsOnly),
		"allowLocalBinding":       d.flag(&n.AllowLocalBinding),
		"allowUnixSockets":        d.flagOrList(&n.AllowUnixSockets),
		"allowAllUnixSockets":     d.flag(&n.AllowAllUnixSockets),
		"httpProxyPort":           d.optional(d.port(&n.HTTPProxyPort)),
		"socksProxyPort":          d.optional(d.port(&n.SOCKSProxyPort)),
	}, d.claudeNetwork(n))
}

func (d *decoder) ripgrep(field string, s *Settings) error {
	r := &Ripgrep{}
	s.Ripgrep = r
	at := d.offset()
	err := d.object(field, fields{
		"command": func(f string) error {
			var err error
			r.Command, err = d.text(f, checkNotEmpty)
			return err
		},
		"args": d.optional(func(f string) error { return d.listPointer(&r.Args, checkAnything)(f) }),
	})
	if err == nil && r.Command == "" {
		return &Error{Field: field, Offset: at, What: "it names no command", hint: `write {"command": "rg"}`}
	}
	return err
}

func (d *decoder) violations(field string, s *Settings) error {
	s.IgnoreViolations = map[string][]string{}
	return d.members(field, func(name, field string) error {
		if what, hint := checkMuteKey(name); what != "" {
			return &Error{Field: field, Offset: d.at, What: what, hint: hint}
		}
		var list []string
		if err := d.list(&list, checkMuteEntry(name))(field); err != nil {
			return err
		}
		s.IgnoreViolations[name] = list
		return nil
	})
}
