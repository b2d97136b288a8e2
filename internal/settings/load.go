package settings

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/policy"
)

// Options says where settings are.
type Options struct {
	Home    string // HOLDFAST_HOME, with the user's settings and the trust list; "" for none
	User    string // the user's home folder, for "~"; "" for none
	Cwd     string // the session's folder, absolute; required
	Project string // default [FindProject] of Cwd
	Managed string // default [DefaultManaged]

	// ClaudeHome and CodexHome are the folders with the user's settings of these programs; default
	// .claude and .codex in User. Their managed settings are next to Managed's folder.
	ClaudeHome, CodexHome string

	// Files is the flag layer: settings files, or JSON that begins with "{". The last is the
	// strongest.
	Files []string
	// Flags are single settings from the command line; they are stronger than Files.
	Flags Flags

	// MCP are additional MCP servers: files in the form of .mcp.json, or JSON that begins with "{".
	// The last is the strongest. StrictMCP excludes all others.
	MCP       []string
	StrictMCP bool

	// Portable, if not nil, replaces the managed settings, the user's settings and the trust of the
	// project, instead of reading Home and Managed.
	Portable *Portable

	// FlagsOnly ignores every layer except flags.
	FlagsOnly bool

	// Tools are the names of the available tools. If they are set, rules are also checked for tools
	// that do not exist and for other rules that they shadow.
	Tools []string
}

// Flags are settings from the command line.
type Flags struct {
	Allow      []Flag // rules
	Deny       []Flag
	Mode       policy.Mode
	Folders    []string
	Plugins    []string // folders of plugins
	OnAsk      UnattendedPolicy
	AskTimeout time.Duration
	NoHooks    bool // run only managed hooks
}

// Flag is a rule from a flag.
type Flag struct {
	Name string // of the flag: "--allowed-tools"
	Text string
}

// Load reads all layers. Errors are *[Error], which wraps [ErrInvalid] and lists every problem of
// the files that could be read.
func Load(o *Options) (*Settings, error) {
	s, problems, err := Examine(o)
	if err != nil {
		return nil, err
	}
	return s, fatalError(problems)
}

// Examine is like Load, for a linter: it returns all problems, including those that are not fatal,
// and settings that must not be used if one is fatal. The error reports what could not be read at
// all.
func Examine(o *Options) (*Settings, []Problem, error) {
	opt, err := o.complete()
	if err != nil {
		return nil, nil, err
	}
	in, err := opt.sources()
	if err != nil {
		return nil, nil, err
	}
	m := merger{out: &Settings{Project: opt.Project, projectDigest: in.projectDigest, foreignDigest: in.foreignDigest, readsForeign: in.readsForeign, texts: textsOf(in.own), opt: opt}, trust: in.trust}
	for _, src := range in.managed {
		m.add(decode(src))
	}
	m.add(opt.Flags.parse(opt.Cwd))
	for _, s := range in.mcp {
		m.add(s)
	}
	for _, src := range slices.Concat(in.flags, in.project) {
		m.add(decode(src))
	}
	if in.mcpFile != nil {
		m.add(in.mcpFile)
	}
	for _, src := range in.user {
		m.add(decode(src))
	}
	s, problems := m.finish()
	return s, problems, nil
}

// complete sets derived defaults.
func (o *Options) complete() (Options, error) {
	opt := *o
	var err error
	if !filepath.IsAbs(opt.Cwd) {
		return opt, fmt.Errorf("%w: the folder %q is not absolute", ErrInvalid, opt.Cwd)
	}
	if opt.Cwd, err = canonical(opt.Cwd); err != nil {
		return opt, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if home, err := canonical(opt.User); err == nil {
		opt.User = home // paths compared with "~/x" contain no links
	}
	if opt.Managed == "" {
		opt.Managed = DefaultManaged
	}
	if opt.FlagsOnly {
		opt.Project = opt.Cwd
		return opt, nil
	}
	if opt.Project != "" {
		opt.Project, err = canonical(opt.Project)
	} else {
		opt.Project, err = FindProject(opt.Cwd, opt.Home)
	}
	if err != nil {
		return opt, fmt.Errorf("%w: look for the project of %s: %w", ErrInvalid, opt.Cwd, err)
	}
	return opt, nil
}

// inputs are the sources of all layers, the strongest first.
type inputs struct {
	managed, flags, project, user []source        // sources by layer; in each layer, files of other programs follow Holdfast's files
	readsForeign                  bool            // true if files of other programs are read
	own                           []source        // sources of the project, without those of other programs
	mcp                           []*parsedSource // sources from --mcp-config
	mcpFile                       *parsedSource   // the source from the project's .mcp.json, or nil
	projectDigest, foreignDigest  string          // digests of the project's settings: for Holdfast, for other programs
	trust                         *Trust          // the trust list; nil if there is none
}

// sources reads the files of every layer.
func (o *Options) sources() (in inputs, err error) {
	if in.flags, err = o.flags(); err != nil {
		return in, err
	}
	if in.mcp, err = o.mcpGiven(); err != nil || o.FlagsOnly {
		return in, err
	}
	var errs [7]error
	in.managed, errs[0] = o.managed()
	in.own, errs[1] = o.project()
	in.mcpFile, errs[2] = o.mcpProject()
	in.user, errs[3] = o.user()
	var managed, project, user []source
	if in.readsForeign = readsForeign(in.managed, in.flags, in.user); in.readsForeign {
		managed, errs[4] = o.foreignLayer(layernames.Managed, o.foreignManaged)
		project, errs[5] = o.foreignSources(o.foreignProject())
		user, errs[6] = o.foreignLayer(layernames.User, o.foreignUser)
	}
	if err := joinErrors(errs[:]...); err != nil {
		return in, err
	}
	if len(in.own) == 0 && len(project) == 0 && in.mcpFile == nil {
		in.managed, in.user = append(in.managed, managed...), append(in.user, user...)
		return in, nil
	}
	if in.trust, err = o.trust(); err != nil {
		return in, err
	}
	in.projectDigest, in.foreignDigest = digest(in.own), o.foreignDigest(project)
	for i := range in.own {
		in.own[i].untrusted = !in.trust.trusts(o.Project, in.projectDigest)
	}
	for i := range project {
		project[i].untrusted = !in.trust.trustsForeign(o.Project, in.foreignDigest)
	}
	in.managed, in.user = append(in.managed, managed...), append(in.user, user...)
	in.project = byLayer(in.own, project)
	return in, nil
}

// joinErrors joins the errors of several layers into one [*Error].
func joinErrors(errs ...error) error {
	all := &Error{}
	for _, err := range errs {
		if e, ok := errors.AsType[*Error](err); ok {
			all.Problems = append(all.Problems, e.Problems...)
			all.Err = errors.Join(all.Err, e.Err)
		} else if err != nil {
			return err
		}
	}
	if len(all.Problems) == 0 {
		return nil
	}
	return all
}
