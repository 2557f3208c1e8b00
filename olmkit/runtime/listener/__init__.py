"""HTTP ports that any client may reach, served within limits on connections, time and bytes."""
