package credentials

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/aws/sigv4"
)

// serve is a server for one test, at which all endpoints are.
func serve(t *testing.T, h http.HandlerFunc) endpoints {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return endpoints{sts: s.URL, portal: s.URL, container: s.URL, machine: s.URL}
}

const roleKeys = `{"Code":"Success","AccessKeyId":"i","SecretAccessKey":"s","Token":"t","Expiration":"2100-01-01T00:00:00Z"}`

var wantKeys = sigv4.Keys{ID: "i", Secret: "s", Token: "t"}

func wantRole(t *testing.T, c *Chain) {
	t.Helper()
	if got, err := c.Get(t.Context()); got != wantKeys || err != nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if c.expires.Year() != 2100 {
		t.Errorf("they expire %v", c.expires)
	}
}

// Version 2 of EC2's metadata.
func TestMachine(t *testing.T) {
	isolate(t)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "")
	const roles = "/latest/meta-data/iam/security-credentials/"
	var asked []string
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		switch {
		case r.Method == http.MethodPut && r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds") == "21600":
			fmt.Fprint(w, "the-token")
		case r.Header.Get("X-aws-ec2-metadata-token") != "the-token":
			http.Error(w, "", http.StatusUnauthorized)
		case r.URL.Path == roles:
			fmt.Fprint(w, "my-role\n")
		case r.URL.Path == roles+"my-role":
			fmt.Fprint(w, roleKeys)
		}
	})
	wantRole(t, e.chain())
	if got := strings.Join(asked, " "); got != "PUT /latest/api/token GET "+roles+" GET "+roles+"my-role" {
		t.Errorf("asked %s", got)
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "True")
	if k, err := e.chain().Get(t.Context()); k.ID != "" || err != nil || len(asked) != 3 {
		t.Errorf("%+v, %v after %v", k, err, asked)
	}
}

func TestMachineWithout(t *testing.T) {
	for _, c := range []struct {
		name        string
		token, role int // statuses; 0 for the role is no answer that can be read
		body, says  string
	}{
		{"version 1", 404, 200, roleKeys, ""},
		{"no role", 200, 404, "", "none"},
		{"turned off", 403, 200, roleKeys, "none"},
		{"a bad request", 400, 200, roleKeys, "the metadata service returned no token: Bad Request"},
		{"an error", 200, 200, `{"Code":"AssumeRoleUnauthorizedAccess","Message":"no"}`, "AssumeRoleUnauthorizedAccess: no"},
		{"no JSON", 200, 200, "hello", "not a JSON object"},
		{"broken", 200, 500, "", "Internal Server Error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			isolate(t)
			t.Setenv("AWS_EC2_METADATA_DISABLED", "")
			e := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodPut:
					w.WriteHeader(c.token)
					fmt.Fprint(w, "x")
				case strings.HasSuffix(r.URL.Path, "/"):
					w.WriteHeader(c.role)
					if c.role == 200 {
						fmt.Fprint(w, "r")
					}
				default:
					fmt.Fprint(w, c.body)
				}
			})
			switch chain := e.chain(); c.says {
			case "":
				wantRole(t, chain)
			case "none":
				if k, err := chain.Get(t.Context()); k.ID != "" || err != nil {
					t.Errorf("%+v, %v", k, err)
				}
			default:
				if e := refused(t, chain, c.says); e.Remote != (c.role >= 500) {
					t.Errorf("later: %v", e.Remote)
				}
			}
		})
	}
}

func TestContainers(t *testing.T) {
	home := isolate(t)
	var path, authorization string
	status := http.StatusOK
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path, authorization = r.URL.RequestURI(), r.Header.Get("Authorization")
		w.WriteHeader(status)
		fmt.Fprint(w, roleKeys)
	})
	t.Setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/abc?x=y")
	wantRole(t, e.chain())
	if path != "/v2/credentials/abc?x=y" || authorization != "" {
		t.Errorf("asked %s with %q", path, authorization)
	}
	t.Setenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", e.container+"/v1/credentials")
	t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic x")
	wantRole(t, e.chain())
	if path != "/v1/credentials" || authorization != "Basic x" {
		t.Errorf("asked %s with %q", path, authorization)
	}
	file := filepath.Join(home, "token")
	t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file)
	refused(t, e.chain(), "token")
	write(t, file, "of a pod\n")
	c := e.chain()
	wantRole(t, c)
	if authorization != "of a pod" {
		t.Errorf("authorization %q", authorization)
	}
	// The token is read anew each time, and a status tells whether it is worth to come back.
	write(t, file, "the next one")
	c.Expired(wantKeys)
	wantRole(t, c)
	if authorization != "the next one" {
		t.Errorf("authorization %q", authorization)
	}
	for code, later := range map[int]bool{403: false, 404: false, 429: true, 503: true} {
		status = code
		if e := refused(t, e.chain(), fmt.Sprint(code)); e.Remote != later || e.Hint == "" {
			t.Errorf("%d: %+v", code, e)
		}
	}
}

func TestAllowedKeyServers(t *testing.T) {
	for address, may := range map[string]bool{
		"http://127.0.0.1:5000/x": true, "http://localhost/x": true, "http://[::1]/x": true,
		"http://169.254.170.2/x": true, "http://169.254.170.23/v1/credentials": true, "http://[fd00:ec2::23]/v1": true,
		"https://keys.example/x": true,
		"http://keys.example/x":  false, "http://169.254.169.254/x": false, "http://10.0.0.1/": false,
		"ftp://127.0.0.1/": false, "https:///x": false, "127.0.0.1": false, "http://127.0.0.1.evil.example/": false, "%zz": false,
	} {
		if err := checkAddress(address); (err == nil) != may {
			t.Errorf("%s: %v", address, err)
		}
	}
	isolate(t)
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://keys.example/x")
	refused(t, Default(), "must use https, or be an address of this machine")
}

// AssumeRoleWithWebIdentity of STS, as on EKS.
func TestWebIdentity(t *testing.T) {
	home := isolate(t)
	file := filepath.Join(home, "token")
	write(t, file, "ey.token\n")
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", file)
	t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/r")
	t.Setenv("AWS_ROLE_SESSION_NAME", "n")
	reply, status, expires := "", http.StatusOK, "2100-01-01T00:00:00Z"
	var tokens []string
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		tokens = append(tokens, r.PostFormValue("WebIdentityToken"))
		for name, want := range map[string]string{
			"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": "arn:aws:iam::1:role/r", "RoleSessionName": "n",
		} {
			if got := r.PostFormValue(name); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
		w.WriteHeader(status)
		if reply != "" {
			fmt.Fprint(w, reply)
			return
		}
		fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>`+
			`<Credentials><AccessKeyId>i</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%s</Expiration></Credentials>`+
			`</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`, expires)
	})
	c := e.chain()
	wantRole(t, c)
	wantRole(t, c)
	if len(tokens) != 1 || tokens[0] != "ey.token" {
		t.Errorf("tokens %q", tokens)
	}
	// They expire in an hour: after four fifths of it others are asked for, with the token of then.
	now := time.Now()
	expires = now.Add(time.Hour).UTC().Format(time.RFC3339)
	c = e.chain()
	c.now = func() time.Time { return now }
	for _, step := range []struct {
		pass time.Duration
		n    int
	}{{0, 2}, {47 * time.Minute, 2}, {2 * time.Minute, 3}} {
		now = now.Add(step.pass)
		write(t, file, fmt.Sprint("token ", step.n))
		if _, err := c.Get(t.Context()); err != nil || len(tokens) != step.n {
			t.Errorf("after %v: %d requests, %v", step.pass, len(tokens), err)
		}
	}
	if tokens[2] != "token 3" {
		t.Errorf("tokens %q", tokens)
	}
	status, reply = 400, `<ErrorResponse><Error><Type>Sender</Type><Code>ExpiredTokenException</Code><Message>too old</Message></Error></ErrorResponse>`
	if e := refused(t, e.chain(), "no keys from web identity: ExpiredTokenException: too old"); e.Remote || !strings.Contains(e.Hint, "AWS_ROLE_ARN") {
		t.Errorf("%+v", e)
	}
	status, reply = 503, "busy"
	if e := refused(t, e.chain(), "STS returned status 503"); !e.Remote {
		t.Error("it is not told that it may work later")
	}
	status, reply = 200, "<x"
	refused(t, e.chain(), "invalid response")
	status, reply = 200, "<AssumeRoleWithWebIdentityResponse/>"
	refused(t, e.chain(), "no keys")
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", file+"x")
	refused(t, e.chain(), "tokenx")
}

// AWS IAM Identity Center.
func TestSSO(t *testing.T) {
	home := isolate(t)
	write(t, filepath.Join(home, ".aws", "config"), `
[sso-session team]
sso_start_url = https://x.awsapps.com/start
sso_region = eu-west-1
[profile new]
sso_session = team
sso_account_id = 123
sso_role_name = Reader
[profile old]
sso_start_url = https://x.awsapps.com/start
sso_region = eu-west-1
sso_account_id = 123
sso_role_name = Reader
[profile other]
sso_session = team
sso_region = us-east-1
sso_account_id = 123
sso_role_name = Reader
[profile half]
sso_session = team
[profile nowhere]
sso_account_id = 123
sso_role_name = Reader
`)
	status := http.StatusOK
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.RequestURI(); got != "/federation/credentials?account_id=123&role_name=Reader" {
			t.Errorf("asked %s", got)
		}
		if r.Header.Get("x-amz-sso_bearer_token") != "bearer" {
			t.Errorf("headers %v", r.Header)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, `{"roleCredentials":{"accessKeyId":"i","secretAccessKey":"s","sessionToken":"t","expiration":4102444800000}}`)
	})
	login := func(key, expires string) {
		sum := sha1.Sum([]byte(key))
		write(t, filepath.Join(home, ".aws", "sso", "cache", hex.EncodeToString(sum[:])+".json"),
			`{"accessToken":"bearer","expiresAt":"`+expires+`","region":"eu-west-1"}`)
	}
	t.Setenv("AWS_PROFILE", "new")
	if e := refused(t, e.chain(), "no keys from profile new: cannot read the token"); e.Hint != "aws sso login --profile new" {
		t.Errorf("hint %q", e.Hint)
	}
	login("team", "2100-01-01T00:00:00Z")
	wantRole(t, e.chain())
	login("team", "2020-01-01T00:00:00Z")
	refused(t, e.chain(), "the token has expired")
	t.Setenv("AWS_PROFILE", "old")
	login("https://x.awsapps.com/start", "2100-01-01T00:00:00Z")
	wantRole(t, e.chain())
	status = http.StatusUnauthorized
	refused(t, e.chain(), "IAM Identity Center returned 401 Unauthorized")
	for name, says := range map[string]string{
		"other": "sso_region differs from sso-session team", "half": "it needs sso_account_id and sso_role_name",
		"nowhere": "it needs sso_session or sso_start_url",
	} {
		t.Setenv("AWS_PROFILE", name)
		refused(t, e.chain(), says)
	}
}

func TestSuffix(t *testing.T) {
	for region, want := range map[string]string{
		"eu-west-1": "amazonaws.com", "us-gov-west-1": "amazonaws.com", "cn-north-1": "amazonaws.com.cn",
		"us-iso-east-1": "c2s.ic.gov", "us-isob-east-1": "sc2s.sgov.gov", "": "amazonaws.com",
	} {
		if got := Suffix(region); got != want {
			t.Errorf("%s: %s", region, got)
		}
	}
}
