-- renew: epoch, lease
local refused = fenced(ARGV[3])
if refused then
  return refused
end
redis.call('HSET', LEASE, 'lease', ARGV[4])
return {'ok'}
