package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// agentUser returns the user of agents in their container. This is the caller's user, but never
// root.
func agentUser() (uid, gid int) {
	if uid, gid = os.Getuid(), os.Getgid(); uid == 0 {
		return 4711, 4711
	}
	return max(uid, 0), max(gid, 0) // -1 on systems without user ids
}

// checkFolders checks that the folders which holdfast created belong to the agent's user. If one user created a
// workspace and another uses it, its agents cannot do anything.
func (w *Workspaces) checkFolders(h *workspaceLock, s *Settings) error {
	parts := []string{homeName, runName}
	if s.Project == "" {
		parts = append(parts, projectName)
	}
	uid, gid := agentUser()
	for _, name := range parts {
		dir, err := openFolder(h.dir, name)
		if err != nil {
			return &Error{Op: "start", Slug: s.Slug, Err: ErrDamaged, Detail: err.Error(), Advice: "holdfast workspace delete " + s.Slug}
		}
		owner, ok := ownerOf(dir)
		if err := dir.Close(); err != nil {
			return err
		}
		if ok && owner != uid {
			path := filepath.Join(w.folder(), s.Slug, name)
			return &Error{
				Op: "start", Slug: s.Slug, Path: path, Err: ErrWrongUser, Detail: fmt.Sprintf("it belongs to user %d, and the agent is user %d", owner, uid),
				Advice: fmt.Sprintf("run holdfast as the user who created the workspace; or, as root: chown -R %d:%d %s", uid, gid, path),
			}
		}
	}
	if s.Project == "" {
		return nil
	}
	return w.checkProject(s, uid, gid)
}

// CheckAccess checks that the agent may use the folders of a workspace before anything is started. It returns
// [ErrWrongUser] with the user ids.
func (w *Workspaces) CheckAccess(ctx context.Context, slug string) error {
	h, err := w.lock(ctx, "start", slug)
	if err != nil {
		return err
	}
	defer h.Release()
	_, err = w.ready(ctx, h, slug)
	return err
}

// checkProject checks that the agent may write to a project folder outside the workspace.
func (w *Workspaces) checkProject(s *Settings, uid, gid int) error {
	ok, err := mayWrite(s.Project, uid, gid)
	if err != nil {
		if p := w.checkPaths(s, nil); p != nil { // checkPaths reports the error
			return p.error(s.Slug)
		}
		return &Error{Op: "start", Slug: s.Slug, Path: s.Project, Err: err}
	}
	if ok {
		return nil
	}
	advice := fmt.Sprintf("chown -R %d:%d %s", uid, gid, s.Project)
	if os.Getuid() == 0 {
		advice = "run holdfast as the folder's owner; or, as root: " + advice
	}
	return &Error{Op: "start", Slug: s.Slug, Path: s.Project, Err: ErrWrongUser, Detail: fmt.Sprintf("the agent runs as user %d and may not write there", uid), Advice: advice}
}
