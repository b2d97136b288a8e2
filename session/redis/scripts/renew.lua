-- renew: epoch, lease around the place of the time
local refused = fenced(ARGV[3])
if refused then
  return refused
end
redis.call('HSET', LEASE, 'lease', ARGV[4] .. clock() .. ARGV[5])
return {'ok'}
