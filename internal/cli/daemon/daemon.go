package daemon

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/daemon/process"
	"github.com/holdfast-dev/holdfast/internal/listen"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

func (c *runCmd) Run(ctx context.Context, p *command.Program) error {
	home, err := p.Home()
	if err != nil {
		return err
	}
	if c.ExitIdle < 0 {
		return outcome.Invalid("--exit-idle must not be negative", "use 0 not to end")
	}
	cert, err := c.complete(p, home)
	if err != nil {
		return err
	}
	lock, err := listen.Acquire(home)
	if err != nil {
		return err
	}
	defer lock.Release()
	p.Env = env.WithoutServiceVariables(p.Env)
	to := p.Stderr
	if c.LogFile != "" {
		f, err := openLog(c.LogFile)
		if err != nil {
			return err
		}
		defer f.Close()
		to = f
	}
	log := c.logger(p, to)
	e := p.Environment()
	e.Notify = func(n env.Notice) { log.Warn(n.String()) }
	return process.Run(ctx, &process.Config{
		Env: e, Home: home, Store: c.Store, Lock: lock, Log: log,
		Listen: c.Listen, Certificate: cert, AllowedHosts: c.AllowHost, AllowedOrigins: c.AllowOrigin,
		Drain: *c.Drain, StoreWait: *c.StoreWait, Resume: c.Resume, StopWorkspaces: c.StopWorkspaces, ExitIdle: c.ExitIdle,
	})
}

const defaultDrain = 30 * time.Second

// complete sets the options for which no flag was given, and then checks all options. The returned
// certificate is nil if TLS is not used.
func (c *listenFlags) complete(p *command.Program, home string) (*listen.Certificate, error) {
	s, err := settings.LoadDaemon(&settings.Options{Home: home, User: p.UserHome(), Managed: p.Managed})
	if err != nil {
		return nil, err
	}
	word := func(flag *string, name, setting string) {
		*flag = cmp.Or(*flag, cmp.Or(p.Getenv("HOLDFAST_DAEMON_"+name), setting))
	}
	c.Listen = configuredWords(c.Listen, p.Getenv("HOLDFAST_DAEMON_LISTEN"), s.Listen)
	c.AllowHost = configuredWords(c.AllowHost, p.Getenv("HOLDFAST_DAEMON_ALLOW_HOST"), s.AllowHosts)
	c.AllowOrigin = configuredWords(c.AllowOrigin, p.Getenv("HOLDFAST_DAEMON_ALLOW_ORIGIN"), s.AllowOrigins)
	word(&c.TLSCert, "TLS_CERT", s.TLSCert)
	word(&c.TLSKey, "TLS_KEY", s.TLSKey)
	word(&c.LogFormat, "LOG_FORMAT", s.LogFormat)
	if !slices.Contains([]string{"", "text", "json"}, c.LogFormat) {
		return nil, outcome.Invalid(fmt.Sprintf("unknown log format %q", c.LogFormat), "use text or json")
	}
	if err := c.completeDrain(p, s); err != nil {
		return nil, err
	}
	if c.StoreWait == nil {
		d, err := stores.WaitTime(p.Environment(), s.StoreWait)
		if err != nil {
			return nil, err
		}
		c.StoreWait = &d
	} else if *c.StoreWait < 0 {
		return nil, outcome.Invalid("--store-wait must not be negative", "use 0 not to wait")
	}
	return listen.Check(c.Listen, c.TLSCert, c.TLSKey)
}

// configuredWords returns the list in the flags. If there is none, it returns the comma-separated list in
// an environment variable, or else the list in the settings.
func configuredWords(flags []string, variable string, setting []string) []string {
	if len(flags) > 0 {
		return flags
	}
	var list []string
	for w := range strings.SplitSeq(variable, ",") {
		if w = strings.TrimSpace(w); w != "" {
			list = append(list, w)
		}
	}
	if len(list) > 0 {
		return list
	}
	return setting
}

func (c *listenFlags) completeDrain(p *command.Program, s *settings.Daemon) error {
	if c.Drain == nil {
		d := defaultDrain
		if s.Drain != nil {
			d = *s.Drain
		}
		if v := p.Getenv("HOLDFAST_DAEMON_DRAIN"); v != "" {
			var err error
			if d, err = time.ParseDuration(v); err != nil {
				return outcome.Invalid(fmt.Sprintf("HOLDFAST_DAEMON_DRAIN: invalid duration %q", v), "use a duration such as 30s or 2m")
			}
		}
		c.Drain = &d
	}
	if *c.Drain < 0 {
		return outcome.Invalid("--drain must not be negative", "use 0 to interrupt running turns at once")
	}
	return nil
}

// logger returns a logger. By default it writes text to a terminal and JSON to anything else.
func (c *listenFlags) logger(p *command.Program, to io.Writer) *slog.Logger {
	if c.LogFormat == "text" || c.LogFormat == "" && c.LogFile == "" && p.Err.TTY {
		return slog.New(slog.NewTextHandler(to, nil))
	}
	return slog.New(slog.NewJSONHandler(to, nil))
}
