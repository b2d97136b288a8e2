package redis

import (
	"context"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// firstLast returns the first and the last element of a list.
func firstLast(list []any) []any {
	if len(list) < 2 {
		return list
	}
	return []any{list[0], list[len(list)-1]}
}

// rewriteFiles makes the server rewrite its files, so that they no longer contain erased data.
func (s *Store) rewriteFiles(ctx context.Context, id string) error {
	info, err := s.info(ctx, id)
	if err != nil {
		return err
	}
	if info["aof_enabled"] == "1" {
		if err := s.runBackgroundJob(ctx, id, "BGREWRITEAOF", "aof_last_bgrewrite_status"); err != nil {
			return err
		}
	}
	if s.hasSnapshot(ctx, id) {
		return s.runBackgroundJob(ctx, id, "BGSAVE", "rdb_last_bgsave_status")
	}
	return nil
}

// hasSnapshot reports whether the server has a snapshot besides the append-only file.
func (s *Store) hasSnapshot(ctx context.Context, id string) bool {
	out, err := s.try(ctx, "erase", id, func(ctx context.Context) (answer, error) {
		set, err := fields(s.db.Do(ctx, "CONFIG", "GET", "save"))
		return answer{"ok", set["save"]}, err
	})
	return err != nil || out.word(1) != ""
}

func (s *Store) info(ctx context.Context, id string) (map[string]string, error) {
	out, err := s.try(ctx, "erase", id, func(ctx context.Context) (answer, error) {
		reply, err := text(s.db.Do(ctx, "INFO", "persistence"))
		return answer{"ok", reply}, err
	})
	return parseInfo(out.word(1)), err
}

// runBackgroundJob starts a background job of the server and waits until it is done. A job that was
// already running may still have read the erased data, so runBackgroundJob waits for it and starts
// another one.
func (s *Store) runBackgroundJob(ctx context.Context, id, command, status string) error {
	for {
		out, err := s.try(ctx, "erase", id, func(ctx context.Context) (answer, error) {
			_, err := s.db.Do(ctx, command)
			if err != nil && (strings.Contains(err.Error(), "in progress") || strings.Contains(err.Error(), "child process")) {
				return answer{"ok", "later"}, nil
			}
			return answer{"ok", "started"}, err
		})
		if err != nil {
			return s.rewriteError(id, command, err)
		}
		info, err := s.awaitIdle(ctx, id)
		if err != nil {
			return s.rewriteError(id, command, err)
		}
		if out.word(1) == "started" {
			if info[status] != "ok" {
				return s.rewriteError(id, command, &session.Error{Op: "erase", Session: id, Err: session.ErrFull, Detail: status + " is " + info[status]})
			}
			return nil
		}
	}
}

// awaitIdle waits until the server has no background job running.
func (s *Store) awaitIdle(ctx context.Context, id string) (map[string]string, error) {
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		info, err := s.info(ctx, id)
		if err != nil {
			return nil, err
		}
		if info["aof_rewrite_in_progress"] != "1" && info["aof_rewrite_scheduled"] != "1" && info["rdb_bgsave_in_progress"] != "1" {
			return info, nil
		}
		if err := s.pause(ctx, pause, "erase", id); err != nil {
			return nil, err
		}
	}
}

func (s *Store) rewriteError(id, command string, err error) error {
	return &session.Error{
		Op: "erase", Session: id, Err: err, Detail: "the records are erased in memory but not in the server's files: " + command + " failed",
		Hint: "redact again when the server can run it, or open the store with ?rewrite=off and rewrite the files yourself",
	}
}
