package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestCorpusSessionRestore(t *testing.T) { onEveryStore(t, corpusSessionRestore) }

func corpusSessionRestore(t *testing.T, fresh opener) {
	named := map[string]string{}
	for id := range strings.FieldsSeq("003 005 010 020 025 026 031 034 035 036 037 038") {
		named["session_restore-"+id] = agentOwns
	}
	two := func(t *testing.T) *session.Sessions { return savedIn(t, fresh(t), "s", 2) }
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "session_restore"), map[string]func(*testing.T, corpus.Case){
		"session_restore-002": corpus.Test(`{"input": {"sessionId":"nope"}, "expect": {"request_messages":1,"status":"success"}}`, func(t *testing.T, c corpus.Case) {
			r := restore(t, two(t), session.RestoreOptions{SessionID: "nope"})
			if !r.Created || r.Log.ID() != "nope" || len(r.State.Items) != 0 {
				t.Errorf("%+v", r)
			}
		}),
		"session_restore-006": corpus.Test(`{"settings": {"sessions":["A older","B newer"]}, "input": {"continueRecentSession":true}, "expect": {"restored":"B"}}`, func(t *testing.T, c corpus.Case) {
			now := time.Now()
			s := session.New(fresh(t), &session.Options{Clock: func() time.Time { now = now.Add(time.Second); return now }})
			newSession(t, s, "A", "a").Close()
			newSession(t, s, "B", "b").Close()
			if r := restore(t, s, session.RestoreOptions{ContinueRecent: true}); r.Log.ID() != "B" {
				t.Errorf("restored %s", r.Log.ID())
			}
		}),
		"session_restore-009": corpus.Test(`{"settings": {"sessions":["A"]}, "input": {"sessionId":"","continueRecentSession":true}, "expect": {"restored":"A"}}`, func(t *testing.T, c corpus.Case) {
			if r := restore(t, savedIn(t, fresh(t), "A", 1), session.RestoreOptions{SessionID: "", ContinueRecent: true}); r.Log.ID() != "A" {
				t.Errorf("restored %s", r.Log.ID())
			}
		}),
		"session_restore-011": corpus.Test(`{"settings": {"session":["u","a"]}, "input": {"sessionId":"s","forkSession":true}, "expect": {"source_messages":2,"request_messages_min":3}}`, func(t *testing.T, c corpus.Case) {
			s := two(t)
			r := restore(t, s, session.RestoreOptions{SessionID: "s", Fork: true})
			must(r.Log.Append(t.Context(), userDraft("more", "more")))(t)
			if n, m := count(t, s, "s"), count(t, s, r.Log.ID()); n != 2 || m != 3 {
				t.Errorf("source has %d items, fork %d", n, m)
			}
		}),
		"session_restore-014": corpus.Test(`{"settings": {"session":["m1:uuid-1","m2:uuid-2","m3:target","m4","m5"]}, "input": {"resumeSessionAt":"target"}, "expect": {"request_messages":4}}`, func(t *testing.T, c corpus.Case) {
			s := session.New(fresh(t), nil)
			newSession(t, s, "s", "uuid-1", "uuid-2", "target", "m4", "m5").Close()
			r := restore(t, s, session.RestoreOptions{SessionID: "s", ItemID: "target"})
			wantIDs(t, itemIDs(r.State.Items), "uuid-1", "uuid-2", "target") // and the new prompt makes four
		}),
		"session_restore-019": corpus.Test(`{"settings": {"sessions":["recent"]}, "input": {"continueRecentSession":true,"forkSession":true}, "expect": {"sessions_min":2,"source_messages":2}}`, func(t *testing.T, c corpus.Case) {
			s := savedIn(t, fresh(t), "recent", 2)
			r := restore(t, s, session.RestoreOptions{ContinueRecent: true, Fork: true})
			if r.Forked != "recent" || count(t, s, "recent") != 2 || len(must(s.List(t.Context(), session.Query{}))(t).Sessions) != 2 {
				t.Errorf("%+v", r)
			}
		}),
		"session_restore-030": corpus.Test(`{"settings": {"session":"cut at assistant tool_use"}, "input": {"resumeSessionAt":"x"}, "expect": {"valid_for_api":true}}`, func(t *testing.T, c corpus.Case) {
			s := session.New(fresh(t), nil)
			crash(t, s, userDraft("u", "u"), useDraft("x", "c1"), resultDraft("r", "c1"))
			r := restore(t, s, session.RestoreOptions{SessionID: "s", ItemID: "x"})
			if err := transcript.Validate(r.State.Items); err != nil {
				t.Error(err)
			}
		}),
		"session_restore-039": corpus.Test(`{"settings": {"metadata.cwd":"/other"}, "input": {"sessionId":"s"}, "expect": {"warn":true}}`, func(t *testing.T, c corpus.Case) {
			s := session.New(fresh(t), nil)
			if err := s.Save(t.Context(), "s", items(1), &session.MetaPatch{CWD: new("/other")}); err != nil {
				t.Fatal(err)
			}
			if r := restore(t, s, session.RestoreOptions{SessionID: "s", Opened: session.Opened{CWD: "/here"}}); len(r.Notices) != 1 {
				t.Errorf("notices %q", r.Notices)
			}
		}),
	}, named)
}

func TestCorpusOtherSystems(t *testing.T) { onEveryStore(t, corpusOtherSystems) }

func corpusOtherSystems(t *testing.T, fresh opener) {
	roles := map[string]transcript.Role{}
	for _, r := range []transcript.Role{"system", "developer", "user", "assistant", "tool", "context", "notification"} {
		roles[string(r)] = r
	}
	handled := map[string]func(*testing.T, corpus.Case){
		"dispatch": func(t *testing.T, c corpus.Case) {
			kind := decode[struct {
				Last string `json:"last_item_kind"`
			}](t, c.Setup()).Last
			role, ok := roles[kind]
			if !ok {
				t.Fatalf("unknown kind %q", kind)
			}
			if want := decode[struct{ Dispatch bool }](t, c.Expect()).Dispatch; role.Dispatchable() != want {
				t.Errorf("dispatch is %v", !want)
			}
		},
		"transcript-invariants": func(t *testing.T, c corpus.Case) {
			var list []transcript.Encoded
			for _, line := range decode[struct{ Transcript []string }](t, c.Setup()).Transcript {
				f := strings.Fields(line)
				switch f[0] {
				case "assistant":
					it := transcript.Item{Role: transcript.RoleAssistant}
					for _, use := range f[2:] {
						it.Parts = append(it.Parts, transcript.ToolUse{ID: strings.Trim(use, ","), Name: "x"})
					}
					list = append(list, it.MustEncode())
				case "tool":
					list = append(list, transcript.ToolResult{UseID: f[len(f)-1]}.Item().MustEncode())
				default:
					list = append(list, transcript.Item{Role: roles[f[0]], Parts: []transcript.Part{transcript.Text{Text: line}}}.MustEncode())
				}
			}
			err := transcript.Validate(list)
			want := decode[struct{ Result string }](t, c.Expect()).Result
			if want == "valid" {
				if err != nil {
					t.Error(err)
				}
			} else if text, _ := strings.CutPrefix(want, "invalid: "); err == nil || !strings.HasPrefix(err.Error(), text) {
				t.Errorf("got %v, want %s", err, want)
			}
		},
		"ak-persist-010": corpus.Test(`{"given": {"two processes":"same session id, both append"}, "when": ["concurrent appends"], "expect": {"outcome":"one writer wins a lease/fencing check, the other gets a conflict error; no item lost silently"}}`, func(t *testing.T, c corpus.Case) {
			store := fresh(t) // two processes are two Sessions
			s := session.New(store, nil)
			newSession(t, s, "s", "a")
			_, err := session.New(store, nil).Open(t.Context(), "s", nil)
			wantErr(t, err, session.ErrBusy)
			thief := must(session.New(store, nil).Open(t.Context(), "s", &session.OpenOptions{Takeover: true}))(t)
			defer thief.Close()
		}),
		"ak-persist-013": corpus.Test(`{"given": {"crash point":"after assistant item with tool_call c1 was stored, before its result"}, "when": ["restart","submit user 'go on'"], "expect": {"before_dispatch":"a tool result for c1 is present (error: interrupted / outcome unknown)","providers_never_see":"unanswered tool_use"}}`, func(t *testing.T, c corpus.Case) {
			s := session.New(fresh(t), nil)
			crash(t, s, userDraft("u", "u"), useDraft("a", "c1"), draft(t, record.KindToolStarted, record.ToolStarted{Use: "c1", Tool: "Bash"}))
			r := restore(t, s, session.RestoreOptions{SessionID: "s"})
			last := r.State.Items[len(r.State.Items)-1]
			if got := last.ResultIDs(); len(got) != 1 || got[0] != "c1" || !strings.Contains(string(last.JSON), "outcome unknown") {
				t.Errorf("%s", last.JSON)
			}
			wantIDs(t, loaded(t, s, "s"), itemIDs(r.State.Items)...) // durable before Restore returned
		}),
		"ak-persist-019": corpus.Test(`{"given": {"items":"parts with inline bytes, uri, handle, unicode, nested JSON numbers 1, 1.0, 1e400-as-string, empty text"}, "when": ["store","load"], "expect": {"equal":"byte for byte after canonical encoding"}}`, func(t *testing.T, c corpus.Case) {
			it := transcript.Item{ID: "i", Role: transcript.RoleUser, Parts: []transcript.Part{
				transcript.Media{MIME: "image/png", Data: []byte{0, 1, 255}},
				transcript.File{URI: "https://example.com/ü"},
				transcript.Text{Text: ""},
				transcript.Text{Text: "日本 🙂 \u2028"},
				transcript.Structured{Value: []byte(`{"a":1,"b":1.0,"c":"1e400","n":[9007199254740993]}`)},
				transcript.Custom{Kind: "handle", Value: []byte(`{"handle":"h-1"}`)},
			}}
			e := it.MustEncode()
			s := session.New(fresh(t), nil)
			l := newSession(t, s, "s")
			must(l.Append(t.Context(), session.ItemDraft(e, false, nil)))(t)
			if got := must(s.Load(t.Context(), "s", nil))(t).Items[0]; string(got.JSON) != string(e.JSON) {
				t.Errorf("loaded %s, stored %s", got.JSON, e.JSON)
			}
			if again := must(e.Decode())(t).MustEncode(); string(again.JSON) != string(e.JSON) {
				t.Errorf("encoded again %s, first %s", again.JSON, e.JSON)
			}
		}),
		"xx-008": corpus.Test(`{"given": {"state":"client reconnects with last seq 17"}, "when": ["subscribe"], "expect": {"same events as a client that never left, byte for byte":true}}`, func(t *testing.T, c corpus.Case) {
			s := session.New(fresh(t), nil)
			longSession(t, s, "s", 30)
			collect := func(after int64) (recs []string) {
				for r, err := range s.Records(t.Context(), "s", session.Range{After: after}) {
					if err != nil {
						t.Fatal(err)
					}
					recs = append(recs, fmt.Sprintf("%d %s %s", r.Seq, r.Digest, r.Payload))
				}
				return recs
			}
			if all := collect(0); !slices.Equal(collect(17), all[17:]) {
				t.Error("reading after 17 gives other records than reading all")
			}
		}),
		"xx-016": corpus.Test(`{"given": {"state":"session of 10 items"}, "when": ["fork at item 6, append to both"], "expect": {"each":"own tail, shared prefix unchanged"}}`, func(t *testing.T, c corpus.Case) {
			s := savedIn(t, fresh(t), "s", 10)
			f := must(s.Fork(t.Context(), "s", &session.ForkOptions{ItemIndex: new(5)}))(t)
			for i, id := range []string{"s", f} {
				l := must(s.Open(t.Context(), id, nil))(t)
				must(l.Append(t.Context(), userDraft(fmt.Sprint("own ", i), "x")))(t)
				l.Close()
			}
			wantIDs(t, loaded(t, s, "s"), "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "own 0")
			wantIDs(t, loaded(t, s, f), "0", "1", "2", "3", "4", "5", "own 1")
		}),
	}
	named := map[string]string{
		"ak-persist-001": agentOwns, "ak-persist-002": agentOwns, "ak-persist-005": agentOwns, "ak-persist-007": agentOwns,
		"ak-persist-008": agentOwns, "ak-persist-015": agentOwns, "ak-persist-017": agentOwns,
		"xx-001": "kills real processes: internal/crashtest", "xx-002": fileOwns, "xx-010": "a hub and a hundred sessions: internal/daemon/feed",
	}
	corpus.Claim(t, corpus.Area(t, "agentkit-commaagents-parachute.json", "persistence", "transcript-invariants", "dispatch", "fork", "recovery", "concurrency", "replay"), handled, named)
}

// The files that these cases are about are those of a container's home, behind an HTTP
// interface; a store of sessions names its files itself and takes no path from anybody
// (session ids: TestCorpusSessionID).
func TestCorpusFiles(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "agentkit-commaagents-parachute.json", "files"), nil, map[string]string{
		"pa-files-002": "resolving a path in a workspace's home: the issue that adds workspaces",
		"pa-files-003": "a path that leads out of a workspace's home: the issue that adds workspaces",
		"pa-files-004": "a path that leads out of a workspace's home: the issue that adds workspaces",
		"pa-files-007": "the name of a file uploaded to a workspace: the issue that adds workspaces",
		"pa-files-009": "deleting in a workspace's home: the issue that adds workspaces",
		"pa-files-010": "hidden files of a workspace's home: the issue that adds workspaces",
	})
}
