package credentials

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/aws/sigv4"
)

func TestParseINI(t *testing.T) {
	f, err := parseINI([]byte("\ufeff# a comment\n[default]\nAWS_Access_Key_Id = i ; ours\naws_secret_access_key=s/+=#;x\n\n" +
		"; another\n[ profile   two ] # why not\nregion = \"eu-west-1\"\ns3 =\n  max_concurrent = 3\n  addressing_style = path\noutput = 'json'\n" +
		"  indented = yes\n[default]\nlate = 1\r\ncredential_process = \"/opt/my tool\" --x \"y z\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := iniFile{
		"default": {
			"aws_access_key_id": "i", "aws_secret_access_key": "s/+=#;x", "late": "1",
			"credential_process": `"/opt/my tool" --x "y z"`,
		},
		"profile two": {"region": "eu-west-1", "s3": "", "output": "json", "indented": "yes"},
	}
	if fmt.Sprint(f) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", f, want)
	}
	for text, says := range map[string]string{
		"a = 1":        "line 1 is not a setting of a section",
		"[s]\n\nhello": "line 3 is not a setting of a section",
		"[s\na = 1":    "line 1: a section without ]",
		"[s]\n= x\n[":  "line 3: a section without ]",
	} {
		if _, err := parseINI([]byte(text)); err == nil || err.Error() != says {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParseINI(f *testing.F) {
	f.Add("[default]\naws_access_key_id = x\ns3 =\n  a = b\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parseINI([]byte(text))
		for name, settings := range all {
			for setting, value := range settings {
				if strings.ContainsAny(name+setting+value, "\n") {
					t.Errorf("%q: a line ending in %q %q %q", text, name, setting, value)
				}
			}
		}
		if err != nil && all != nil {
			t.Errorf("both %v and %v", all, err)
		}
	})
}

func TestProfiles(t *testing.T) {
	home := isolate(t)
	write(t, filepath.Join(home, ".aws", "config"), `
[default]
region = eu-west-1
[profile work]
aws_access_key_id = config-id
aws_secret_access_key = config-secret
aws_session_token = config-token
[bare]
aws_access_key_id = not-of-a-profile
aws_secret_access_key = x
[profile half]
aws_access_key_id = h
[profile role]
role_arn = arn:aws:iam::1:role/x
source_profile = work
[profile only-region]
region = x
[profile mixed]
aws_access_key_id = m-config
aws_secret_access_key = s
`)
	write(t, filepath.Join(home, ".aws", "credentials"), `
[work]
aws_access_key_id = w
aws_secret_access_key = ws
[profile no]
aws_access_key_id = n
aws_secret_access_key = ns
[mixed]
aws_access_key_id = half-of-a-pair
region = y
[plain]
aws_access_key_id = p
aws_secret_access_key = ps
aws_session_token = pt
`)
	for name, want := range map[string]sigv4.Keys{
		"work":  {ID: "w", Secret: "ws"}, // whole pairs replace, with their token
		"mixed": {ID: "m-config", Secret: "s"},
		"plain": {ID: "p", Secret: "ps", Token: "pt"},
	} {
		if got, err := Profile(name).Get(t.Context()); got != want || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, says := range map[string]string{
		"bare":        "no keys from profile bare: the profile does not exist",
		"no":          "the profile does not exist",
		"half":        "one of aws_access_key_id and aws_secret_access_key",
		"role":        "role_arn, which assumes a role, is not supported in a profile",
		"only-region": "it has no keys, sso_session or credential_process",
		"default":     "it has no keys, sso_session or credential_process",
	} {
		refused(t, Profile(name), says)
	}
	// Nobody asked for the default profile, which has a region alone.
	if got, err := Default().Get(t.Context()); got.ID != "" || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	t.Setenv("AWS_PROFILE", "plain")
	if got, err := Default().Get(t.Context()); got.ID != "p" || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	t.Setenv("AWS_PROFILE", "missing")
	if e := refused(t, Default(), "no keys from profile missing: the profile does not exist"); e.Hint == "" || e.Remote {
		t.Errorf("%+v", e)
	}
	t.Setenv("MINIO_ROOT_USER", "i")
	t.Setenv("MINIO_ROOT_PASSWORD", "s")
	if got, err := Default().Get(t.Context()); got.ID != "i" || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFilesElsewhere(t *testing.T) {
	home := isolate(t)
	write(t, filepath.Join(home, "c"), "[profile a]\naws_access_key_id = i\naws_secret_access_key = s\n")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(home, "c"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(home, "missing"))
	if got, err := Profile("a").Get(t.Context()); got.ID != "i" || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	write(t, filepath.Join(home, "c"), "[profile a\n")
	if e := refused(t, Profile("a"), "line 1: a section without ]"); !strings.Contains(e.Error(), "c: ") {
		t.Errorf("the file is not named: %v", e)
	}
	refused(t, Default(), "line 1: a section without ]")
}

func TestMinIOFile(t *testing.T) {
	home := isolate(t)
	folder := ".mc"
	if runtime.GOOS == "windows" {
		folder = "mc"
	}
	file := filepath.Join(home, folder, "config.json")
	get := func(want string) {
		t.Helper()
		if got, err := Default().Get(t.Context()); got.ID != want || err != nil {
			t.Errorf("%+v, %v; want %q", got, err, want)
		}
	}
	get("")
	write(t, file, `{"version":"10","aliases":{"s3":{"url":"https://s3.amazonaws.com","accessKey":"YOUR-ACCESS-KEY-HERE","secretKey":"YOUR-SECRET-KEY-HERE","api":"S3v4"}}}`)
	get("") // as mc writes it
	write(t, file, `{"version":"10","aliases":{"s3":{"accessKey":"i","secretKey":"s"},"old":{"accessKey":"o","secretKey":"s","api":"s3v2"},"mine":{"accessKey":"m","secretKey":"s"}}}`)
	get("i")
	t.Setenv("MINIO_ALIAS", "mine")
	get("m")
	t.Setenv("MINIO_ALIAS", "old")
	refused(t, Default(), "signature version 2 (S3v2) is not supported")
	t.Setenv("MINIO_ALIAS", "missing")
	refused(t, Default(), "unknown alias missing")
	t.Setenv("MINIO_ALIAS", "x")
	other := filepath.Join(home, "other.json")
	t.Setenv("MINIO_SHARED_CREDENTIALS_FILE", other)
	refused(t, Default(), "other.json")
	write(t, other, `{"version":"9","hosts":{"x":{"accessKey":"h","secretKey":"s"}}}`)
	get("h")
	write(t, other, `{`)
	refused(t, Default(), "JSON")
}

func TestCredentialProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs of this test are shell scripts")
	}
	home := isolate(t)
	tool := filepath.Join(home, "my tool")
	use := func(script string) {
		t.Helper()
		write(t, tool, "#!/bin/sh\n"+script+"\n")
		if err := os.Chmod(tool, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(home, ".aws", "config"), "[default]\ncredential_process = \""+tool+"\" one \"two three\"\n")
	use(`[ "$1" = one ] && [ "$2" = "two three" ] && echo '{"Version":1,"AccessKeyId":"i","SecretAccessKey":"s","SessionToken":"t","Expiration":"2100-01-01T00:00:00Z"}'`)
	c := Default()
	if got, err := c.Get(t.Context()); (got != sigv4.Keys{ID: "i", Secret: "s", Token: "t"}) || err != nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if c.expires.Year() != 2100 {
		t.Errorf("they expire %v", c.expires)
	}
	use(`echo '{"Version":1,"AccessKeyId":"i","SecretAccessKey":"s"}'; rm "$0"`)
	c = Default()
	for range 3 { // without an expiration the program runs once
		if got, err := c.Get(t.Context()); got.ID != "i" || err != nil {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	for script, says := range map[string]string{
		`echo not today >&2; exit 3`:                                   "exit status 3: not today",
		`echo '{"Version":2,"AccessKeyId":"i","SecretAccessKey":"s"}'`: "printed Version 2, not 1",
		`echo '{"Version":1,"AccessKeyId":"i"}'`:                       "did not print AccessKeyId and SecretAccessKey",
		`echo secret-text`:                                             "did not print a JSON object",
	} {
		use(script)
		if e := refused(t, Default(), says); strings.Contains(e.Error(), "secret-text") || e.Source != "profile default" || e.Hint == "" {
			t.Errorf("%+v", e)
		}
	}
	if err := os.Remove(tool); err != nil {
		t.Fatal(err)
	}
	refused(t, Default(), "my tool")
}

func TestSplitCommand(t *testing.T) {
	for command, want := range map[string]string{
		`a`: `["a"]`, `a b  c`: `["a" "b" "c"]`, `"/x y/z" -p "" q"r s"t`: `["/x y/z" "-p" "" "qr st"]`,
		` a	b `: `["a" "b"]`, `C:\tools\x.exe a`: `["C:\\tools\\x.exe" "a"]`,
	} {
		if got, err := splitCommand(command); fmt.Sprintf("%q", got) != want || err != nil {
			t.Errorf("%s: %q, %v", command, got, err)
		}
	}
	for _, command := range []string{"", "  ", `"a`, `""`} {
		if got, err := splitCommand(command); err == nil {
			t.Errorf("%s: %q", command, got)
		}
	}
}
