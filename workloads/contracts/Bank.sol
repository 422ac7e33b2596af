pragma solidity 0.8.30;

/// Accounts whose total never changes.
contract Bank {
    uint256[] private accounts;

    event Moved(uint256 indexed from, uint256 indexed to, uint256 amount);

    constructor(uint256 count, uint256 each) {
        for (uint256 i = 0; i < count; i++) {
            accounts.push(each);
        }
    }

    /// Reverts, and so has no effect, when the account has less.
    function move(uint256 from, uint256 to, uint256 amount) external {
        require(accounts[from] >= amount, "not enough");
        accounts[from] -= amount;
        accounts[to] += amount;
        emit Moved(from, to, amount);
    }

    /// All accounts at one block; the number and the parent's hash say which.
    function balances() external view returns (uint256[] memory all, uint256 number, bytes32 parent) {
        return (accounts, block.number, blockhash(block.number - 1));
    }
}
