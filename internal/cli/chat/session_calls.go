package chat

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// List lists the sessions of the store, newest first.
func (s *Session) List(ctx context.Context, q client.ListOptions) (page *api.Page[api.Session], err error) {
	err = s.call(ctx, func(c *client.Client) error {
		page, err = c.Sessions(ctx, q)
		return err
	})
	return page, err
}

// Withdraw takes back a message that Send has queued: conversation.Queued has its id. If the model
// has it already, the error is a conflict.
func (s *Session) Withdraw(ctx context.Context, queued string) error {
	return s.call(ctx, func(c *client.Client) error { return c.WithdrawSteering(ctx, s.ID(), queued) })
}

// Subagents lists the sessions of the agents that worked for this one, newest first.
func (s *Session) Subagents(ctx context.Context) (page *api.Page[api.Session], err error) {
	return s.List(ctx, client.ListOptions{Owner: s.ID(), Limit: 500})
}

// Tell gives a text to one sub-agent or teammate that works, by its session.
func (s *Session) Tell(ctx context.Context, agent, text string) error {
	return s.call(ctx, func(c *client.Client) error {
		_, err := c.SteerSubagent(ctx, s.ID(), agent, text)
		return err
	})
}

// StopAgent stops one sub-agent, or what a teammate does, by its session. The run continues.
func (s *Session) StopAgent(ctx context.Context, agent string) error {
	return s.call(ctx, func(c *client.Client) error {
		_, err := c.StopSubagent(ctx, s.ID(), agent)
		return err
	})
}

// Rename changes the title.
func (s *Session) Rename(ctx context.Context, title string) error {
	return s.call(ctx, func(c *client.Client) error {
		_, err := c.PatchSession(ctx, s.ID(), api.SessionPatch{Title: &title})
		return err
	})
}

// Fork forks the session. The conversation stays in this session; [Session.Join] enters the fork.
func (s *Session) Fork(ctx context.Context, f api.Fork) (made *api.Session, err error) {
	err = s.call(ctx, func(c *client.Client) error {
		made, err = c.ForkSession(ctx, s.ID(), f)
		return err
	})
	return made, err
}

// Rewind returns the plan of a rewind. With the digest of the plan, it applies the plan.
func (s *Session) Rewind(ctx context.Context, r api.Rewind) (plan *api.RewindResult, err error) {
	err = s.call(ctx, func(c *client.Client) error {
		plan, err = c.RewindSession(ctx, s.ID(), r)
		return err
	})
	return plan, err
}

// Undecided returns the MCP servers of a run in a folder that the user has neither approved nor rejected. They
// are not started before the user has approved them.
func (s *Session) Undecided(cwd string) ([]settings.MCPServer, error) {
	list, err := s.servers(cwd)
	return slices.DeleteFunc(list, func(srv settings.MCPServer) bool {
		return srv.Status != settings.MCPPending && srv.Status != settings.MCPChanged
	}), err
}

// servers returns the servers of the settings and of the sub-agents. In a workspace there are none.
func (s *Session) servers(cwd string) ([]settings.MCPServer, error) {
	if s.in != nil {
		return nil, nil
	}
	rules, err := s.flags.LoadSettings(s.p, cwd)
	if err != nil {
		return nil, err
	}
	set, err := tools.Definitions(s.p.Environment(), rules, s.flags.Agents)
	if err != nil {
		return nil, err
	}
	return slices.Concat(rules.MCPServers, set.Servers), nil
}
